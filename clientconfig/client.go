package clientconfig

import (
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed clients.json
var table []byte

// clients holds the rows of the table.
var clients = func() []*Client {
	var rows []row
	if err := json.Unmarshal(table, &rows, json.RejectUnknownMembers(true)); err != nil {
		panic("clientconfig: clients.json: " + err.Error())
	}
	var cs []*Client
	for _, r := range rows {
		cs = append(cs, &Client{ID: r.ID, Title: r.Title, row: r})
	}
	return cs
}()

// A Client is a program that stores MCP servers in a configuration file.
type Client struct {
	ID    string // for example "claude"
	Title string // for example "Claude Code"
	row   row
}

// A row of the table. Paths are given by operating system, with "" for all
// others. They begin with ~ or a variable, except those relative to the
// project.
type row struct {
	ID        string              `json:"id"`
	Title     string              `json:"title"`
	Also      []string            `json:"also"` // aliases
	Format    string              `json:"format"`
	Key       []string            `json:"key"`    // path of the servers
	Within    []string            `json:"within"` // in a user file: path of more servers, by project directory and then Key
	Off       []string            `json:"off"`    // path of the list of disabled servers
	Inputs    string              `json:"inputs"` // member with the inputs that ${input:id} refers to
	Limit     int64               `json:"limit"`  // size limit of a user file, if larger than the default
	User      map[string][]string `json:"user"`
	Project   map[string][]string `json:"project"`
	Variables string              `json:"variables"` // the name of a rule in expand.go
	Types     map[string]string   `json:"types"`     // values of the member type: stdio or http
	Fields    fields              `json:"fields"`
	Install   install             `json:"install"`
}

// fields holds the member names of an entry; empty if there is none.
type fields struct {
	Type       string   `json:"type"`
	Command    string   `json:"command"`
	Nested     string   `json:"nested"` // Command may be an object with this member, args and env
	Argv       string   `json:"argv"`   // program and arguments in one list
	Args       string   `json:"args"`
	Env        string   `json:"env"`
	EnvNames   string   `json:"env_names"` // variables that are passed through
	Dir        string   `json:"dir"`
	URL        []string `json:"url"` // the first one present is used
	Headers    string   `json:"headers"`
	HeadNames  string   `json:"header_names"` // headers whose values are in variables
	BearerName string   `json:"bearer_name"`  // variable with a bearer token
	Disabled   string   `json:"disabled"`
	Enabled    string   `json:"enabled"`
}

// Clients returns all known clients.
func Clients() []*Client { return slices.Clone(clients) }

// Find returns the client with an ID or alias.
func Find(name string) (*Client, bool) {
	for _, c := range clients {
		if c.ID == name || slices.Contains(c.row.Also, name) {
			return c, true
		}
	}
	return nil, false
}

// Places says where to look for files.
type Places struct {
	OS      string // a runtime.GOOS value; default: the current one
	Home    string // the user's home directory
	Project string // the project directory; may be empty
	// Getenv returns environment variables that change the location of files,
	// such as XDG_CONFIG_HOME. If nil, none are set.
	Getenv func(name string) (string, bool)
}

// Here returns the places of this process: its user's home directory, and the repository that the working
// directory is in, or that directory itself.
func Here() Places {
	p := Places{Getenv: os.LookupEnv}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		p.Home = filepath.Clean(home)
	}
	if dir, err := os.Getwd(); err == nil {
		p.Project = projectOf(dir, p.Home)
	}
	return p
}

// projectOf is the directory of the repository that dir is in, or dir itself. It is empty
// for the home directory, whose files are the user's.
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

// A Scope says which kind of file an entry comes from.
type Scope string

const (
	User    Scope = "user"    // the user's file
	Project Scope = "project" // a file in the project directory, which anyone who can push may have written
	Local   Scope = "local"   // the user's file, for one project
)

// A File is a configuration file of a client.
type File struct {
	Path  string
	Scope Scope // User or Project
}

// Files returns the files that the client reads, whether they exist or not.
// Later files take precedence.
func (c *Client) Files(p Places) []File {
	var out []File
	for _, path := range forOS(c.row.User, p.OS) {
		if path, ok := p.resolve(path); ok {
			out = append(out, File{Path: path, Scope: User})
		}
	}
	if p.Project != "" {
		for _, path := range forOS(c.row.Project, p.OS) {
			out = append(out, File{Path: filepath.Join(p.Project, filepath.FromSlash(path)), Scope: Project})
		}
	}
	return out
}

func forOS(paths map[string][]string, system string) []string {
	if system == "" {
		system = runtime.GOOS
	}
	if p, ok := paths[system]; ok {
		return p
	}
	return paths[""]
}

// resolve expands a path of the table. It returns false if the home directory
// is required but unknown.
func (p Places) resolve(path string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "${"); ok {
		inside, after, _ := strings.Cut(rest, "}")
		name, fallback, _ := strings.Cut(inside, ":-")
		value := fallback
		if p.Getenv != nil {
			if v, ok := p.Getenv(name); ok && v != "" {
				value = v
			}
		}
		path = value + after
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if p.Home == "" {
			return "", false
		}
		path = p.Home + rest
	}
	return filepath.Clean(filepath.FromSlash(path)), true
}
