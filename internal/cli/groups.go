package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// groups are the headings of bossman help, with the commands below each.
var groups = [...]struct{ title, commands string }{
	{"The board", "status task inbox answer board pause resume stop event"},
	{"Agents and their work", "work land trust"},
	{"Set-up", "init install doctor config link project"},
	{"For agents without MCP", "next note ask done fail review"},
	{"MCP", "mcp client gateway prime hook"},
	{"Servers", "login serve migrate key person audit guard"},
	{"This program", "help completion version"},
}

// group puts the commands of root below their headings, in the order of groups.
func group(root *cobra.Command) {
	root.SetHelpCommandGroupID("This program")
	root.SetCompletionCommandGroupID("This program")
	of := map[string]string{}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, name := range strings.Fields(g.commands) {
			of[name] = g.title
		}
	}
	for _, c := range root.Commands() {
		c.GroupID = of[c.Name()]
	}
}
