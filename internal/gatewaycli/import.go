package gatewaycli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
)

func (c *command) importCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import CLIENT", Short: "Print the servers of another client's files as sections of config.toml", Args: cobra.ExactArgs(1),
		Long: `Import reads the MCP servers that a client such as claude, codex, cursor or vscode has in its files, for you and for the
current directory, and prints them as sections [upstream.NAME]. Read them, and append them to your
config.toml. It starts nothing. References such as ${TOKEN} stay as they are. Files of the current directory that a command names are
named by absolute paths: an upstream runs in an empty directory, unless dir is set.`,
		RunE: func(_ *cobra.Command, args []string) error {
			client, ok := clientconfig.Find(args[0])
			if !ok {
				var names []string
				for _, k := range clientconfig.Clients() {
					names = append(names, k.ID)
				}
				return console.Usagef("%q is not a client: there are %s", args[0], strings.Join(names, ", "))
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			home := c.Getenv("HOME")
			servers, err := client.Read(clientconfig.Places{Home: home, Project: dir, Getenv: os.LookupEnv})
			if err != nil {
				c.Infof("warning: %v", err)
			}
			servers, found := taken(servers), false
			for _, s := range servers {
				name := sectionName(s.Name)
				table, notes, err := section(&s, dir)
				if err != nil {
					c.Infof("warning: %q in %q is left out: %v", s.Name, s.File, err)
					continue
				}
				found = true
				text, err := toml.Marshal(map[string]any{"upstream": map[string]any{name: table}})
				if err != nil {
					return err
				}
				c.Linef("# %q in %q", s.Name, s.File)
				for _, note := range notes {
					c.Linef("# %s", note)
				}
				for line := range strings.Lines(strings.TrimPrefix(string(text), "[upstream]\n")) {
					c.Linef("%s", strings.TrimSuffix(line, "\n"))
				}
			}
			if !found {
				return console.Errorf(console.NotFound, "name another client", "the files of %s have no other servers", client.Title)
			}
			return nil
		},
	}
}

// taken returns the entries that become sections, one for each name. One of a clone does not take the place of one of the
// user's own, as it does in the client, not even if that is disabled.
func taken(servers []clientconfig.Server) (list []clientconfig.Server) {
	used := map[string]bool{"bossman": true} // this program itself
	for _, scope := range []clientconfig.Scope{clientconfig.Local, clientconfig.User, clientconfig.Project} {
		for _, s := range servers {
			name := sectionName(s.Name)
			if s.Scope != scope || used[name] {
				continue
			}
			if used[name] = true; !s.Disabled {
				list = append(list, s)
			}
		}
	}
	return list
}

// section returns a server as a section of config.toml, with notes for whoever reads it. project is the directory in which the
// client starts servers of the project's files.
func section(s *clientconfig.Server, project string) (table map[string]any, notes []string, err error) {
	table = map[string]any{}
	switch {
	case s.Err != nil:
		return nil, nil, s.Err
	case readsFile(s.Headers) || readsFile(s.Env):
		return nil, nil, errors.New("a value of it begins with file:, and would be read as the name of a file")
	case s.URL != "":
		table["url"] = s.URL
		put(table, "headers", s.Headers)
		return table, nil, nil
	case len(s.Args) == 0:
		return nil, nil, errors.New("it has neither a command nor a URL")
	}
	args, dir := slices.Clone(s.Args), s.Dir
	if s.Scope == clientconfig.User {
		project = "" // it may be any
	}
	switch {
	case dir != "" && !filepath.IsAbs(dir) && project == "":
		return nil, nil, fmt.Errorf("its directory %q is a relative path", dir)
	case dir != "":
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(project, dir)
		}
		table["dir"] = dir
		notes = append(notes, "It runs in dir, and may load code from there.")
	case project != "":
		for i, arg := range args {
			if args[i] = inProject(project, arg, i == 0); args[i] != arg {
				notes = append(notes, fmt.Sprintf("%q is a file of this directory, named by its absolute path.", arg))
			}
		}
	}
	if program := args[0]; filepath.Base(program) != program && !filepath.IsAbs(program) && dir == "" {
		return nil, nil, fmt.Errorf("its program %q is a relative path, and not one of this directory", program)
	}
	table["command"] = args
	put(table, "env", s.Env)
	return table, notes, nil
}

// inProject returns the absolute path of what a program or argument names in a project, and the argument itself if that is nothing. A name without a
// directory may be that of a program, and one of a directory that of a package.
func inProject(project, arg string, program bool) string {
	option := ""
	if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") && !program {
		option, arg = name+"=", value
	}
	if arg == "" || filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") || program && filepath.Base(arg) == arg {
		return option + arg
	}
	path := filepath.Join(project, arg)
	info, err := os.Stat(path)
	dotted := arg == "." || arg == ".." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../")
	if err != nil || !dotted && !info.Mode().IsRegular() {
		return option + arg
	}
	return option + path
}

func readsFile(values map[string]string) bool {
	for _, v := range values {
		if strings.HasPrefix(v, "file:") {
			return true
		}
	}
	return false
}

func put(table map[string]any, name string, values map[string]string) {
	if len(values) > 0 {
		table[name] = values
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// sectionName makes the name of a server one that an upstream may have.
func sectionName(name string) string {
	name = notInName.ReplaceAllString(strings.ToLower(name), "")
	name = strings.TrimLeft(name, "0123456789")
	if name == "" {
		name = "server"
	}
	return name[:min(len(name), 16)]
}
