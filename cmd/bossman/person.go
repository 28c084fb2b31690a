package main

import (
	"os"

	"golang.org/x/term"
)

// agentVariables are set by agents for the commands that they run. Settings that
// people keep in their own shells are not among them.
var agentVariables = []string{
	"BOSSMAN_AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX",
	"CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "CRUSH", "CURSOR_AGENT", "CLINE_ACTIVE",
	"COPILOT_CLI", "AUGMENT_AGENT", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID",
}

// agentVariable is the variable that tells that an agent runs this, or empty.
func agentVariable(getenv func(string) string) string {
	for _, name := range agentVariables {
		if getenv(name) != "" {
			return name
		}
	}
	return ""
}

// person makes sure that a person is at the keyboard: judging and answering are not
// for whoever did the work. It guards against accidents; an agent that wants to can
// pretend. BOSSMAN_PERSON=1 is for people's own scripts, which have no terminal.
func (a *app) person() (terminal bool, err error) {
	if err := a.notAgent(); err != nil {
		return false, err
	}
	terminal = term.IsTerminal(int(a.stdin.Fd()))
	if !terminal && a.getenv("BOSSMAN_PERSON") != "1" {
		return false, failf(exitDenied, "run it in a terminal", "this is for people, and standard input is not a terminal")
	}
	return terminal, nil
}

// notAgent refuses inside an agent's shell: an agent does not give itself a key.
func (a *app) notAgent() error {
	if name := agentVariable(a.getenv); name != "" {
		return failf(exitDenied, "ask the person to run it in a terminal of their own",
			"this is for people, and %s says that an agent runs it", name)
	}
	return nil
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
