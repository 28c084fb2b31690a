package mcpcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
)

// allClients is the value of --from that lists the servers of all clients.
const allClients = "all"

func clientNames() []string {
	var names []string
	for _, c := range clientconfig.Clients() {
		names = append(names, c.ID)
	}
	return append(names, allClients)
}

func findClient(name string) (*clientconfig.Client, error) {
	c, ok := clientconfig.Find(name)
	if !ok {
		return nil, console.Usagef("unknown client %q: want one of %s", name, strings.Join(clientNames(), ", "))
	}
	return c, nil
}

// configured finds a server in the configuration of another client.
func (c *cli) configured(ctx context.Context, from, name string, trust bool) (*target, error) {
	if from == allClients {
		return nil, console.Usagef("--from all only lists servers; name the client that has %s", name)
	}
	client, err := findClient(from)
	if err != nil {
		return nil, err
	}
	servers, unread := client.Read(clientconfig.Here())
	var found *clientconfig.Server
	var refused *clientconfig.Server
	var names []string
	for i := range servers {
		s := &servers[i]
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
		switch {
		case s.Name != name || found != nil:
		case s.Scope == clientconfig.Project && !trust:
			refused = s
		default:
			found = s
		}
	}
	list := "bossman client tools --from " + from
	switch {
	case unread != nil && (found == nil || trust):
		// The file that cannot be read may take precedence.
		return nil, console.WithNext(unread, "fix the file; nothing was started")
	case found == nil && refused != nil:
		return nil, console.Errorf(console.Denied, "check it, and add --trust if you want it: "+console.OneLine(destination(refused)),
			"%s is from %s, which belongs to the project: anyone who can push can change it", name, refused.File)
	case found == nil && len(names) == 0:
		return nil, console.Errorf(console.NotFound, list, "%s has no servers, and so no %q", client.Title, name)
	case found == nil:
		next := list + " lists them"
		if best := console.Near(name, names); len(best) > 0 {
			next = "did you mean " + strings.Join(best, " or ") + "? " + next
		}
		return nil, console.Errorf(console.NotFound, next, "%s has no server %q", client.Title, name)
	case refused != nil:
		c.Infof("Ignored %s of the project's own file; use it with --trust.", name)
	}
	if unread != nil {
		c.Infof("Ignored: %v.", unread)
	}
	if found.Disabled {
		c.Infof("%s is turned off in %s.", name, client.Title)
	}
	s, err := found.Expand(clientconfig.Values{Getenv: os.LookupEnv, Home: clientconfig.Here().Home, Input: func(in clientconfig.Input) (string, error) {
		return c.configInput(ctx, in)
	}})
	if err != nil {
		next := ""
		switch {
		case found.Err != nil:
			next = "fix the entry; nothing was started"
		case errors.Is(err, clientconfig.ErrUnset):
			next = "set it and try again; nothing was started"
		}
		return nil, &console.Error{Code: console.Failure, Err: err, Next: next}
	}
	t := &target{typed: "--from " + from + " " + console.ShellWords(name), before: true}
	if len(s.Args) > 0 {
		t.command = &mcp.Command{Args: s.Args, Env: s.Environ(), Dir: s.Dir}
		if s.Scope != clientconfig.Project {
			path := "PATH=" + cmp.Or(git.ProgramsOutside().List(os.Getenv("PATH")), os.DevNull) // it is the user's own
			t.command.Env = append([]string{path}, t.command.Env...)
		}
		return t, nil
	}
	t.url, t.header = s.URL, s.Header()
	if t.header == nil {
		t.header = http.Header{}
	}
	return t, nil
}

// configInput asks for a value that a configuration file does not have.
func (c *cli) configInput(ctx context.Context, in clientconfig.Input) (string, error) {
	if terminal, err := c.RequirePerson(); err != nil || !terminal {
		return "", fmt.Errorf("%w, and there is no terminal to ask at", clientconfig.ErrUnset)
	}
	text := console.OneLine(in.Description)
	if text == "" {
		text = console.OneLine(in.ID)
	}
	if len(in.Options) > 0 {
		text += " (" + console.OneLine(strings.Join(in.Options, ", ")) + ")"
	}
	if in.Default != "" && !in.Password {
		text += " [" + console.OneLine(in.Default) + "]"
	}
	var v string
	var err error
	if in.Password {
		v, err = c.ReadSecret(ctx, text+": ")
	} else {
		v, err = c.Prompt(ctx, text+": ")
	}
	if err != nil {
		return "", err
	}
	if v == "" {
		v = in.Default
	}
	if v == "" {
		return "", clientconfig.ErrUnset
	}
	return v, nil
}

// completeServer completes the name of a server in the configuration of another client.
func (c *cli) completeServer(from string) []string {
	client, ok := clientconfig.Find(from)
	if !ok {
		return nil
	}
	servers, _ := client.Read(clientconfig.Here())
	var names []string
	for _, s := range servers {
		if !s.Shadowed {
			names = append(names, console.OneLine(s.Name)+"\t"+console.OneLine(destination(&s)))
		}
	}
	return names
}

type configuredJSON struct {
	Client   string   `json:"client"`
	Name     string   `json:"name"`
	Scope    string   `json:"scope"`
	File     string   `json:"file"`
	Type     string   `json:"type,omitzero"`
	Command  []string `json:"command,omitzero"`
	URL      string   `json:"url,omitzero"`
	Disabled bool     `json:"disabled,omitzero"`
	Shadowed bool     `json:"shadowed,omitzero"`
	Problem  string   `json:"problem,omitzero"`
}

// listConfigured lists the servers of a client, or of all clients.
func (c *cli) listConfigured(from string) error {
	which := clientconfig.Clients()
	if from != allClients {
		client, err := findClient(from)
		if err != nil {
			return err
		}
		which = []*clientconfig.Client{client}
	}
	p := clientconfig.Here()
	out := []configuredJSON{}
	var rows []console.Row
	var failed error
	report := func(err error) {
		c.Infof("%v", err)
		failed = console.Errorf(console.Failure, "fix them; the others can be used", "some entries could not be read")
	}
	for _, client := range which {
		servers, err := client.Read(p)
		if err != nil {
			report(err)
		}
		for _, s := range servers {
			entry := configuredJSON{
				Client: client.ID, Name: s.Name, Scope: string(s.Scope), File: s.File, Type: s.Type, Command: s.Args,
				Disabled: s.Disabled, Shadowed: s.Shadowed,
			}
			if s.URL != "" {
				entry.URL = destination(&s)
			}
			if s.Err != nil {
				entry.Problem = s.Err.Error()
				report(s.Err)
			}
			out = append(out, entry)
			state, style := "", console.Style("")
			switch {
			case s.Err != nil:
				state, style = "invalid", console.Red
			case s.Shadowed:
				state, style = "shadowed", console.Dim
			case s.Disabled:
				state, style = "off", console.Dim
			}
			source := ""
			if from == allClients {
				source = client.ID
			}
			rows = append(rows, console.Row{
				console.Dim.Cell(source), console.Cyan.Cell(s.Name), style.Cell(state), scopeStyle(s.Scope).Cell(string(s.Scope)), style.Cell(destination(&s)), console.Dim.Cell(tilde(s.File, p.Home)),
			})
		}
	}
	if c.JSON {
		if err := c.PrintJSON(map[string]any{"servers": out}); err != nil {
			return err
		}
		return failed
	}
	if len(rows) == 0 && failed == nil {
		c.Linef("No servers are configured. Searched:")
		for _, client := range which {
			for _, f := range client.Files(p) {
				c.Linef("  %s", console.OneLine(tilde(f.Path, p.Home)))
			}
		}
		return nil
	}
	if len(rows) > 0 {
		c.Table("", []console.Column{
			{Head: "CLIENT"}, {Head: "SERVER"}, {Head: "STATE"}, {Head: "SCOPE"}, {Head: "TARGET", Flex: true}, {Head: "FILE", Drop: 1},
		}, rows)
	}
	return failed
}

func scopeStyle(s clientconfig.Scope) console.Style {
	if s == clientconfig.Project {
		return console.Yellow
	}
	return console.Dim
}

// destination is the command line or the address of an entry.
func destination(s *clientconfig.Server) string {
	switch {
	case len(s.Args) > 0:
		return console.ShellWords(s.Args...)
	case s.URL != "":
		return shownURL(s.URL)
	}
	if s.Type == "" {
		return ""
	}
	return "(" + s.Type + ")"
}

// shownURL is an address without its query and user, which may contain a key. It may contain
// variables, so it is not parsed.
func shownURL(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	scheme, rest, ok := strings.Cut(address, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		address = scheme + "://" + rest[at+1:]
	}
	return address
}

// tilde is a path with ~ for the home directory.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~/" + rest
	}
	return path
}
