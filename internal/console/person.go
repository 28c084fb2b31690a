package console

import (
	"os"
	"slices"
	"strings"
)

// runVariable is set for everything that Bossman runs itself.
const runVariable = "BOSSMAN_RUN"

// agentVariables are set by agents for the commands that they run. Settings that people
// keep in their own shells are not among them.
var agentVariables = []string{
	runVariable, "BOSSMAN_CHECK", "BOSSMAN_AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CODEX_SANDBOX",
	"CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "CRUSH", "CURSOR_AGENT", "CLINE_ACTIVE", "QWEN_CODE", "ROO_ACTIVE", "TRAE_AI_SHELL_ID",
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

// jobVariables lead from an agent that bossman work started to its job.
var jobVariables = []string{"BOSSMAN_SOCKET", "BOSSMAN_CLAIM"}

// AgentEnvironment returns the variables by which an agent is recognized, for programs that get
// only a part of the environment.
func (c *Console) AgentEnvironment() (env []string) {
	for _, name := range slices.Concat(agentVariables, jobVariables) {
		if value := c.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
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

// shellVariables are those that agents set for the commands of a shell only, and not for the MCP
// servers that they start. CLAUDECODE is not among them.
var shellVariables = []string{"CLAUDE_CODE_CHILD_SESSION", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI"}

// shellVariable reports whether this process has a variable of an agent's shell. A shell may have
// put it in its own place, so that its parent is the client.
func (c *Console) shellVariable() bool {
	return strings.HasSuffix(c.Getenv("AI_AGENT"), "_agent") ||
		slices.ContainsFunc(shellVariables, func(name string) bool { return c.Getenv(name) != "" })
}

// NoPersonAbove reports whether the client that started this process was itself started by
// an agent, so that no person sits at it. Where the system does not tell that, the variables
// of this process count, which may be the client's own.
func (c *Console) NoPersonAbove() bool {
	if c.shellVariable() {
		return true
	}
	names, err := agentsAbove()
	if err != nil {
		return c.AgentVariable() != ""
	}
	return len(names) > 0
}

// InAgentShell reports whether this process, or the client that started it, was started in
// an agent's shell, or by an agent that Bossman runs: that one has its own server of tools. Where
// the system does not tell about the client, it reports what is known of this process.
func (c *Console) InAgentShell() bool {
	if c.shellVariable() || c.Getenv(runVariable) != "" {
		return true
	}
	names, _ := agentsAbove()
	return len(names) > 0
}

// agentsAbove returns the variables of agents in the environment that the client of this
// process began with: a client is an agent's child if there are any. A program between the
// two that passes on the client's pipes, such as a shell, is not the client.
func agentsAbove() (names []string, err error) {
	pid := os.Getppid()
	for range maxWrappers {
		above, ok := wrapped(pid)
		if !ok {
			break
		}
		pid = above
	}
	env, err := environ(pid)
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); value != "" && slices.Contains(agentVariables, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// maxWrappers bounds how many programs between client and server are looked through.
const maxWrappers = 8

// RefuseAgent returns an error in an agent's shell: an agent must not give itself a key, nor
// change the rules that its work is judged by.
func (c *Console) RefuseAgent() error {
	if name := c.AgentVariable(); name != "" {
		return Errorf(Denied, "ask the person to run it in a terminal of their own",
			"this is for people, and %s is set: an agent runs this command", name)
	}
	return nil
}

// RefuseJob returns an error in the shell of an agent that bossman work started: there it is a worker,
// on its socket as in its shell, and what it would do is a lead's.
func (c *Console) RefuseJob() error {
	if c.Getenv(jobVariables[0]) == "" {
		return nil
	}
	return Errorf(Denied, "for new tasks, add --draft; leave the rest to a lead", "this is for leads, and a worker of bossman work runs this command")
}
