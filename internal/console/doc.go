// Package console is the terminal as a command of Bossman sees it: answers on standard
// output, messages and prompts on standard error, errors with an exit code.
//
//	command ──► Linef, Table, Paragraph, PrintJSON ──► standard output   the answer
//	        ──► Infof, Progress, Prompt            ──► standard error    everything else
//	        ──► an error ──► Report                ──► standard error, and the exit code
//
// Text that agents, servers or repositories wrote must not control the terminal. Table,
// Paragraph, Infof, Progress, Report and the JSON functions escape what they are given.
// Linef does not, because its arguments may be styled: pass foreign text through Escape
// or OneLine first.
//
// The package knows nothing about boards or configuration. An error says itself which
// exit code it has and what to do next: it is, or wraps, an Error or any type with the
// methods ExitCode and NextStep.
package console
