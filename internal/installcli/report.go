package installcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/console"
)

// A report is what was done.
type report struct {
	Changes []changeJSON `json:"changes"`
	Notes   []string     `json:"notes"`

	lines []line
}

// A line is for people, with what would be added if that is only shown.
type line struct{ text, added string }

type changeJSON struct {
	Client  string   `json:"client,omitzero"`
	File    string   `json:"file"`
	Scope   string   `json:"scope"`
	Keys    []string `json:"keys"`
	Extra   []string `json:"extra,omitzero"` // what an entry that was there has besides
	Changed bool     `json:"changed"`
	Removed bool     `json:"removed,omitzero"` // the file
	Added   string   `json:"added,omitzero"`
	Backup  string   `json:"backup,omitzero"`
}

func (r *report) add(client *clientconfig.Client, p *clientconfig.Plan, home string, o *options) {
	file := console.OneLine(tilde(p.File.Path, home))
	keys := strings.Join(p.Keys, ", ")
	j := changeJSON{File: p.File.Path, Scope: string(p.File.Scope), Keys: slices.Clone(p.Keys), Extra: p.Extra, Changed: p.Changed(), Removed: p.New == nil && p.Old != nil, Added: string(p.Added)}
	if client != nil {
		j.Client = client.ID
	}
	if p.Changed() && !p.Restored {
		j.Backup = p.Backup
	}
	r.Changes = append(r.Changes, j)

	verb := func(did, do string) string {
		if o.print {
			return "would " + do
		}
		return did
	}
	l := line{text: title(client) + ": "}
	switch {
	case o.uninstall && !p.Changed():
		l.text += "nothing of Bossman is in " + file
	case o.uninstall && j.Removed:
		l.text += verb("removed", "remove") + " " + keys + ", and with it the file " + file
	case o.uninstall:
		l.text += verb("removed", "remove") + " " + keys + " from " + file
		if p.Restored {
			l.text += "; the file is as it was before"
		}
	case !p.Changed():
		l.text += file + " is set up already"
		if len(p.Extra) > 0 {
			l.text += "; it also has " + console.OneLine(strings.Join(p.Extra, ", "))
		}
	default:
		l.text += verb("added", "add") + " " + keys + " to " + file
		if o.print {
			l.added = string(p.Added)
		} else if p.Backup != "" {
			l.text += "; the file as it was: " + console.OneLine(tilde(p.Backup, home))
		}
	}
	r.lines = append(r.lines, l)
}

// notes adds what the user of a client has to know.
func (r *report) notes(c *cli, client *clientconfig.Client, o *options) {
	if o.uninstall {
		return
	}
	add := func(text string) {
		if !slices.Contains(r.Notes, text) {
			r.Notes = append(r.Notes, text)
		}
	}
	scope := clientconfig.Scope(o.scope)
	for _, text := range client.Notes(scope) {
		add(text)
	}
	if o.url != "" {
		if client.HasHooks() && !o.noHooks {
			add("Hooks were not added: they act on the board of this machine's configuration.")
		}
		return
	}
	e, err := c.entry(client, o)
	if err != nil {
		return
	}
	if program := e.Args[0]; program != entryName && !client.Desktop() || scope == clientconfig.Project && program != entryName {
		text := "bossman is not on your PATH, so the entry has its full path: " + console.OneLine(program) + "."
		if scope == clientconfig.Project {
			text += " Others have it elsewhere: put it on the PATH and run this again with --force."
		}
		add(text)
	}
	if client.Elsewhere() {
		if i := slices.Index(e.Args, "--board"); i >= 0 {
			add(fmt.Sprintf("%s starts servers outside your projects, so the entry names one: %s.", client.Title, console.OneLine(e.Args[i+1])))
		} else {
			add(client.Title + " starts servers outside your projects: run this in a project, or with --board DIR.")
		}
	}
}

func (c *cli) print(r *report, o *options) error {
	if c.JSON {
		return c.PrintJSON(r)
	}
	for _, l := range r.lines {
		c.Linef("%s", l.text)
		for text := range strings.Lines(l.added) {
			c.Linef("  %s", strings.TrimRight(text, "\r\n"))
		}
	}
	for _, text := range r.Notes {
		c.Linef("%s", text)
	}
	changed := slices.ContainsFunc(r.Changes, func(j changeJSON) bool { return j.Changed })
	if !o.print && !o.uninstall && changed {
		c.Linef("%s", c.Styled(console.Dim, `next: start the agent again in your repository, and tell it "work on the board"`))
	}
	return nil
}
