// Package console is the terminal as a command of Bossman sees it: answers on standard
// output, messages and prompts on standard error, errors with an exit code.
//
//	command ──► Linef, Table, Paragraph, PrintJSON ──► standard output   the answer
//	        ──► Infof, Progress, Prompt            ──► standard error    everything else
//	        ──► an error ──► Report                ──► standard error, and the exit code
//
// Text that agents, servers or repositories wrote must not control the terminal, nor pass for
// our own lines. All output goes through an escaper, which spells out what would act on the
// terminal and adds the styles; nothing else has the files. Further lines of an argument of
// Linef and Infof are indented, a cell of a table is one line, and Quote is for what a server
// says before a prompt of ours.
//
// The package knows nothing about boards or configuration. An error says itself which
// exit code it has and what to do next: it is, or wraps, an Error or any type with the
// methods ExitCode and NextStep.
package console
