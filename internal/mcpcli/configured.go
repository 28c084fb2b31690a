package mcpcli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
)

// allClients is what --from takes for a list of everything.
const allClients = "all"

func clientNames() []string {
	var names []string
	for _, c := range clientconfig.Clients() {
		names = append(names, c.ID)
	}
	return append(names, allClients)
}

// places are where the clients of whoever runs this keep their files.
func (c *cli) places() clientconfig.Places {
	p := clientconfig.Places{Getenv: os.LookupEnv}
	if home, err := os.UserHomeDir(); err == nil {
		p.Home = filepath.Clean(home)
	}
	if dir, err := os.Getwd(); err == nil {
		p.Project = projectOf(dir, p.Home)
	}
	return p
}

// projectOf is the folder of the repository that dir is in, or dir itself. It is
// never the home directory, whose files are the user's.
func projectOf(dir, home string) string {
	for d := dir; d != home; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	if dir == home {
		return ""
	}
	return dir
}

func findClient(name string) (*clientconfig.Client, error) {
	c, ok := clientconfig.Find(name)
	if !ok {
		return nil, console.Usagef("there is no client %q: it is one of %s", name, strings.Join(clientNames(), ", "))
	}
	return c, nil
}

// configured finds a server that is set up for another client.
func (c *cli) configured(ctx context.Context, from, name string, trust bool) (*target, error) {
	if from == allClients {
		return nil, console.Usagef("--from all only lists; say which client %s is from", name)
	}
	client, err := findClient(from)
	if err != nil {
		return nil, err
	}
	servers, unread := client.Read(c.places())
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
		// What cannot be read may have had the say.
		return nil, console.WithNext(unread, "mend the file; nothing was started")
	case found == nil && refused != nil:
		return nil, console.Errorf(console.Denied, "look at it, and add --trust if it is what you want: "+console.OneLine(leadsTo(refused)),
			"%s is from %s, which belongs to the project: whoever can push may have written it", name, refused.File)
	case found == nil && len(names) == 0:
		return nil, console.Errorf(console.NotFound, list, "%s has no server %q, nor any other", client.Title, name)
	case found == nil:
		next := list + " lists what there is"
		if best := near(name, names); len(best) > 0 {
			next = "did you mean " + strings.Join(best, " or ") + "? " + next
		}
		return nil, console.Errorf(console.NotFound, next, "%s has no server %q", client.Title, name)
	case refused != nil:
		c.Infof("The %s of the project's own file is left aside; --trust takes it.", name)
	}
	if unread != nil {
		c.Infof("%v; it is left aside.", unread)
	}
	if found.Disabled {
		c.Infof("%s is turned off in %s.", name, client.Title)
	}
	s, err := found.Expand(clientconfig.Values{Getenv: os.LookupEnv, Home: c.places().Home, Input: func(in clientconfig.Input) (string, error) {
		return c.configInput(ctx, in)
	}})
	if err != nil {
		next := ""
		switch {
		case found.Err != nil:
			next = "mend the entry; nothing was started"
		case errors.Is(err, clientconfig.ErrUnset):
			next = "set it and try again; nothing was started"
		}
		return nil, &console.Error{Code: console.Failure, Err: err, Next: next}
	}
	t := &target{typed: "--from " + from + " " + shellWords([]string{name}), before: true}
	if len(s.Args) > 0 {
		t.command = &mcp.Command{Args: s.Args, Env: s.Environ(), Dir: s.Dir}
		return t, nil
	}
	t.url, t.header = s.URL, s.Header()
	if t.header == nil {
		t.header = http.Header{}
	}
	return t, nil
}

// configInput asks what a file wants to know.
func (c *cli) configInput(ctx context.Context, in clientconfig.Input) (string, error) {
	if terminal, err := c.RequirePerson(); err != nil || !terminal {
		return "", fmt.Errorf("%w, and there is no terminal to ask at", clientconfig.ErrUnset)
	}
	text := console.OneLine(in.Description)
	if text == "" {
		text = in.ID
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

// completeServer completes the name of a server that another client has.
func (c *cli) completeServer(from string) []string {
	client, ok := clientconfig.Find(from)
	if !ok {
		return nil
	}
	servers, _ := client.Read(c.places())
	var names []string
	for _, s := range servers {
		if !s.Shadowed {
			names = append(names, console.OneLine(s.Name)+"\t"+console.OneLine(leadsTo(&s)))
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

// listConfigured lists the servers that a client has, or all of them.
func (c *cli) listConfigured(from string) error {
	which := clientconfig.Clients()
	if from != allClients {
		client, err := findClient(from)
		if err != nil {
			return err
		}
		which = []*clientconfig.Client{client}
	}
	p := c.places()
	out := []configuredJSON{}
	var rows []console.Row
	var failed error
	wrong := func(err error) {
		c.Infof("%v", err)
		failed = console.Errorf(console.Failure, "mend it; the others can be used", "not everything could be read")
	}
	for _, client := range which {
		servers, err := client.Read(p)
		if err != nil {
			wrong(err)
		}
		for _, s := range servers {
			entry := configuredJSON{
				Client: client.ID, Name: s.Name, Scope: string(s.Scope), File: s.File, Type: s.Type, Command: s.Args,
				Disabled: s.Disabled, Shadowed: s.Shadowed,
			}
			if s.URL != "" {
				entry.URL = leadsTo(&s)
			}
			if s.Err != nil {
				entry.Problem = s.Err.Error()
				wrong(s.Err)
			}
			out = append(out, entry)
			state, style := "", console.Style("")
			switch {
			case s.Err != nil:
				state, style = "wrong", console.Red
			case s.Shadowed:
				state, style = "hidden by another", console.Dim
			case s.Disabled:
				state, style = "off", console.Dim
			}
			source := ""
			if from == allClients {
				source = client.ID
			}
			rows = append(rows, console.Row{
				console.Dim.Cell(source), console.Cyan.Cell(s.Name), style.Cell(state), scopeStyle(s.Scope).Cell(string(s.Scope)), style.Cell(leadsTo(&s)), console.Dim.Cell(tilde(s.File, p.Home)),
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
		c.Linef("No servers are set up. It looked in:")
		for _, client := range which {
			for _, f := range client.Files(p) {
				c.Linef("  %s", tilde(f.Path, p.Home))
			}
		}
		return nil
	}
	if len(rows) > 0 {
		c.Table("", []console.Column{
			{Head: "CLIENT"}, {Head: "SERVER"}, {Head: "STATE"}, {Head: "SCOPE"}, {Head: "WHAT", Flex: true}, {Head: "FILE", Drop: 1},
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

// leadsTo is what an entry leads to.
func leadsTo(s *clientconfig.Server) string {
	switch {
	case len(s.Args) > 0:
		return shellWords(s.Args)
	case s.URL != "":
		return shownURL(s.URL)
	}
	if s.Type == "" {
		return ""
	}
	return "(" + s.Type + ")"
}

// shownURL is an address for people. Its query and its user may hold a key, and are
// left out. It may have variables in it, so it is not parsed.
func shownURL(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	scheme, rest, ok := strings.Cut(address, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		address = scheme + "://" + rest[at+1:]
	}
	return address
}

// tilde is a path for people.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~/" + rest
	}
	return path
}
