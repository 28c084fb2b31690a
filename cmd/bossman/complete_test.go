package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletion_everything: an argument or a flag that takes an id or a choice completes it.
// A new flag with any text is added here, another one to the table in internal/cli.
func TestCompletion_everything(t *testing.T) {
	free := []string{
		"acceptance", "admin", "again", "answer-within", "app-role", "artifact", "audit", "board", "branch", "client-id", "client-secret-env", "db", "default",
		"attempt", "description", "dir", "do-not-repeat", "env", "events", "expires", "file", "follow-up", "head", "header", "host", "http", "input", "keep", "key", "label", "land", "lease", "limit", "limit-pause", "linger", "machine",
		"comment", "max-connections", "max-cost", "max-exit", "max-failures", "max-silence", "max-start", "max-tasks", "max-time", "name", "note", "oauth-audience", "oauth-grant", "oauth-issuer", "oauth-person", "older-than", "option", "origin", "out", "percent",
		"proxy", "query", "reason", "review", "scope", "server", "slots", "summary", "timeout", "title", "tls-cert", "tls-key", "to", "url", "wait",
	}
	ids := regexp.MustCompile(`\b(TASK|WORKER|QUESTION|ID|PERSON)\b`)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if ids.MatchString(cmd.Use) && cmd.ValidArgsFunction == nil {
			t.Errorf("%s does not complete its arguments", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || slices.Contains(free, f.Name) {
				return
			}
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok {
				t.Errorf("%s does not complete --%s: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newApp().root())
}

func TestHelp_groups(t *testing.T) {
	root := newApp().root()
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden {
			t.Errorf("bossman help lists %s below no heading", c.Name())
		}
	}
}
