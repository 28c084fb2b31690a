package agent

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is read of the requests of codex app-server, as the schema has them that it writes itself.

// codexCommand is what a request for the approval of a command asks for, in a worktree.
func codexCommand(params jsontext.Value, dir string) *Permission {
	var p struct {
		Kind    string `json:"kind"`
		Command string `json:"command"`
		Dir     string `json:"cwd"`
		Reason  string `json:"reason"`
		Network struct {
			Host     string `json:"host"`
			Protocol string `json:"protocol"`
		} `json:"networkApprovalContext"`
		More jsontext.Value `json:"additionalPermissions"`
	}
	err := json.Unmarshal(params, &p)
	ask := &Permission{Tool: acpTools["execute"], Vague: p.Command == "" || err != nil}
	lines := []string{p.Command}
	if p.Dir != dir {
		ask.Dir = p.Dir
	}
	if !isEmpty(p.More) {
		lines = append(lines, "with "+string(p.More))
	}
	switch {
	case p.Network.Host != "":
		ask.Tool, ask.Vague = acpTools["fetch"], err != nil
		lines = append([]string{p.Network.Protocol + " " + p.Network.Host}, lines...)
	case p.Kind == "writeStdin":
		ask.Tool, ask.Vague = "input for a program that it has started", true
	}
	ask.Use, ask.Words = joined(lines), p.Reason
	return ask
}

// A codexChange is a change of a file, as Codex announces it before it asks about it.
type codexChange struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		To   string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// codexPatch is what a request for the approval of changes asks for. It names the changes, which were
// announced, and does not repeat them. Codex allows files for a session, whatever it writes there.
func codexPatch(params jsontext.Value, changes []codexChange) *Permission {
	var p struct {
		Reason string `json:"reason"`
		Root   string `json:"grantRoot"`
	}
	err := json.Unmarshal(params, &p)
	ask := &Permission{Tool: "a change of files outside its worktree", Vague: len(changes) == 0 || err != nil, Rules: []string{"any change of these files"}}
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %q", c.Kind.Type, c.Path)
		if c.Kind.To != "" {
			line += fmt.Sprintf(", moved to %q", c.Kind.To)
		}
		lines = append(lines, line, strings.TrimRight(c.Diff, "\n"))
	}
	if p.Root != "" {
		all := fmt.Sprintf("any change below %q", p.Root)
		ask.Rules = append(ask.Rules, all)
		lines = append(lines, all)
	}
	ask.Use, ask.Words = joined(lines), p.Reason
	return ask
}

// joined are the lines that say something.
func joined(lines []string) string {
	var said []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}
