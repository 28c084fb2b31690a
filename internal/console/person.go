package console

import (
	"os"
	"slices"
	"strings"
)

// agentVariables are set by agents for the commands that they run. Settings that people
// keep in their own shells are not among them.
var agentVariables = []string{
	"BOSSMAN_RUN", "BOSSMAN_AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX",
	"CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "CRUSH", "CURSOR_AGENT", "CLINE_ACTIVE",
	"COPILOT_CLI", "AUGMENT_AGENT", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID",
}

// AgentVariable is the variable by which an agent that runs this command is recognized,
// empty if none is set.
func (c *Console) AgentVariable() string {
	for _, name := range agentVariables {
		if c.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// RequirePerson returns an error unless a person runs this command: an agent must not
// review its own work or answer its own questions. It guards against accidents; an agent
// can pretend to be a person. With BOSSMAN_PERSON=1, for people's own scripts, no terminal is
// needed; terminal reports whether there is one.
func (c *Console) RequirePerson() (terminal bool, err error) {
	if err := c.RefuseAgent(); err != nil {
		return false, err
	}
	terminal = IsTerminal(c.Stdin)
	if !terminal && c.Getenv("BOSSMAN_PERSON") != "1" {
		return false, Errorf(Denied, "run it in a terminal", "this is for people, and standard input is not a terminal")
	}
	return terminal, nil
}

// NoPersonAbove reports whether the client that started this process was itself started by
// an agent, so that no person sits at it: a client is an agent's child if the agent's
// variables are in the environment that the client began with. Where the system does not
// tell that, the variables of this process count, which may be the client's own.
func (c *Console) NoPersonAbove() bool {
	above, err := environ(os.Getppid())
	if err != nil {
		return c.AgentVariable() != ""
	}
	return slices.ContainsFunc(above, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && slices.Contains(agentVariables, name)
	})
}

// RefuseAgent returns an error in an agent's shell: an agent must not give itself a key, nor
// change the rules that its work is judged by.
func (c *Console) RefuseAgent() error {
	if name := c.AgentVariable(); name != "" {
		return Errorf(Denied, "ask the person to run it in a terminal of their own",
			"this is for people, and %s is set: an agent runs this command", name)
	}
	return nil
}
