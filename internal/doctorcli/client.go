package doctorcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
)

// entryName is the name of the server that bossman install adds.
const entryName = "bossman"

// lookAtClients looks at the files of the clients that have Bossman as a server, or could have.
func (c *cli) lookAtClients(context.Context) {
	var present []string
	entries, broken := 0, map[string]bool{}
	for _, client := range clientconfig.Clients() {
		servers, err := client.Read(c.places)
		hooks, failed := client.Hooks(c.places)
		for _, err := range each(errors.Join(err, failed)) {
			if text := c.tilde(err.Error()); !broken[text] { // several clients read .mcp.json
				broken[text] = true
				c.problem("client "+client.ID, text+"; "+client.Title+" does not use it", "correct that file, or remove it")
			}
		}
		ours := slices.DeleteFunc(servers, func(s clientconfig.Server) bool { return !isOurs(&s) })
		for _, s := range ours {
			entries++
			c.lookAtEntry(client, &s, ours)
		}
		c.lookAtHooks(client, hooks)
		if len(ours) == 0 && client.Present(c.places) {
			present = append(present, client.ID)
		}
	}
	if entries > 0 {
		return
	}
	fix := "bossman install claude, or another of those that bossman install --help lists"
	if len(present) > 0 {
		fix = "bossman install " + strings.Join(present, " ")
	}
	c.note("clients", "no agent on this machine has Bossman in its configuration", fix)
}

// each returns the errors that errors.Join has joined.
func each(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		var list []error
		for _, err := range e.Unwrap() {
			list = append(list, each(err)...)
		}
		return list
	}
	return []error{err}
}

// isOurs reports whether an entry is meant to be Bossman.
func isOurs(s *clientconfig.Server) bool {
	return s.Name == entryName || len(s.Args) > 1 && isBossman(s.Args[0]) && s.Args[1] == "mcp"
}

// isBossman reports whether a program is named as this one is.
func isBossman(program string) bool {
	return strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe") == "bossman"
}

// lookAtEntry looks at one entry. all are those of the client.
func (c *cli) lookAtEntry(client *clientconfig.Client, s *clientconfig.Server, all []clientconfig.Server) {
	check, file := "client "+client.ID, c.tilde(s.File)
	install := "bossman install " + client.ID + " --force"
	switch s.Scope {
	case clientconfig.Project:
		install += " --scope project"
	case clientconfig.Local:
		file += " (for this project)"
		install = "claude mcp remove --scope local " + console.ShellWords(s.Name) + ", then: " + install
	}
	if s.Shadowed {
		c.lookAtShadowed(client, s, all)
		return
	}
	switch {
	case s.Err != nil:
		c.problem(check, c.tilde(s.Err.Error())+"; "+client.Title+" cannot start it", install)
	case s.Disabled:
		c.problem(check, fmt.Sprintf("%s in %s is disabled, so %s has no board", c.word(s.Name), file, client.Title), "enable it in "+client.Title)
	case s.URL != "":
		if _, err := config.ServerURL(s.URL); err != nil && !strings.Contains(s.URL, "$") {
			c.problem(check, fmt.Sprintf("%s in %s: %v", c.word(s.Name), file, err), "bossman install "+client.ID+" --force --http URL")
			return
		}
		c.ok(check, file+": "+s.URL)
	case len(s.Args) == 0:
		c.problem(check, fmt.Sprintf("%s in %s has neither a command nor a URL", c.word(s.Name), file), install)
	default:
		if why := c.wrongProgram(s.Args[0]); why != "" {
			c.problem(check, fmt.Sprintf("%s in %s starts %s", c.word(s.Name), file, why), install)
			return
		}
		if i := slices.Index(s.Args, "--board"); i >= 0 && i+1 < len(s.Args) && !config.IsServer(s.Args[i+1]) {
			if _, err := os.Stat(s.Args[i+1]); errors.Is(err, fs.ErrNotExist) {
				c.problem(check, fmt.Sprintf("%s in %s names the board of %s, which does not exist", c.word(s.Name), file, c.word(s.Args[i+1])), "in the project's directory: "+install)
				return
			}
		}
		if s.Scope == clientconfig.Project && hidesProgram(s) {
			c.note(check, fmt.Sprintf("%s in %s came with the project, and variables in it decide what it starts: %s", c.word(s.Name), file, console.ShellWords(s.Args...)), "read it before you use it, or: "+install)
			return
		}
		c.ok(check, file)
	}
}

// hidesProgram reports whether variables decide which program an entry starts, or what that loads.
func hidesProgram(s *clientconfig.Server) bool {
	if strings.ContainsAny(s.Args[0], "$%") {
		return true
	}
	for name := range s.Env {
		if name := strings.ToUpper(name); name == "PATH" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
			return true
		}
	}
	return false
}

// lookAtShadowed looks at an entry in place of which the client uses another one of the same name.
func (c *cli) lookAtShadowed(client *clientconfig.Client, s *clientconfig.Server, all []clientconfig.Server) {
	i := slices.IndexFunc(all, func(o clientconfig.Server) bool { return o.Name == s.Name && !o.Shadowed })
	if i < 0 || slices.Equal(all[i].Args, s.Args) && all[i].URL == s.URL {
		return
	}
	uses := &all[i]
	fix := "remove " + uses.Key + " there if it is not wanted"
	switch {
	case uses.Scope == clientconfig.Project && s.Name == entryName:
		fix = "if it is not wanted: bossman install " + client.ID + " --scope project --uninstall"
	case uses.Scope == clientconfig.Local:
		fix = "if it is not wanted: claude mcp remove --scope local " + console.ShellWords(s.Name)
	}
	c.problem("client "+client.ID, fmt.Sprintf("%s is defined twice: %s uses that of %s, %s, and not that of %s",
		c.word(s.Name), client.Title, c.tilde(uses.File), c.summary(uses), c.tilde(s.File)), fix)
}

// summary is what an entry starts or connects to.
func (c *cli) summary(s *clientconfig.Server) string {
	switch {
	case s.URL != "":
		return s.URL
	case len(s.Args) > 0:
		return "which starts " + c.tilde(s.Args[0])
	}
	return "which starts nothing"
}

// lookAtHooks looks at the commands that a client runs at events.
func (c *cli) lookAtHooks(client *clientconfig.Client, hooks []clientconfig.Hook) {
	var seen []string
	for _, h := range hooks {
		key := h.File.Path + "\x00" + h.Program
		if slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		if why := c.wrongProgram(h.Program); why != "" {
			fix := "bossman install " + client.ID + " --force"
			if h.File.Scope == clientconfig.Project {
				fix += " --scope project"
			}
			c.problem("client "+client.ID, fmt.Sprintf("the hooks in %s run %s", c.tilde(h.File.Path), why), fix)
		}
	}
}

// word is a name or path of a client's file, which a clone may have brought, as one word: in quotation marks if it has anything but letters,
// digits and the like.
func (c *cli) word(s string) string {
	s = c.tilde(s)
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		if quoted := console.ShellWords(rest); quoted != rest {
			return "~/" + quoted
		}
		return s
	}
	return console.ShellWords(s)
}

// wrongProgram says what is wrong with the program of an entry; empty if it is this one, or if a client's variables in it
// hide what it is. Nothing is run.
func (c *cli) wrongProgram(program string) string {
	path := program
	switch {
	case strings.ContainsAny(program, "$%"):
		return ""
	case strings.HasPrefix(program, "~"):
		return c.word(program) + ": the client does not expand ~"
	case !strings.ContainsAny(program, `/\`):
		found, err := c.host.LookPath(program)
		if err != nil {
			return c.word(program) + ", which is not on the PATH"
		}
		path = found
	case !filepath.IsAbs(program):
		return c.word(program) + ", a path that depends on the directory in which the client starts it"
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.word(path) + ", which does not exist: it was moved or removed"
	case err != nil:
		return fmt.Sprintf("%s, which cannot be read: %v", c.word(path), err)
	case info.IsDir():
		return c.word(path) + ", which is a directory"
	}
	if own, err := os.Stat(c.exe); err == nil && !os.SameFile(own, info) {
		return c.word(path) + ", which is another program than this one, or another version"
	}
	return ""
}
