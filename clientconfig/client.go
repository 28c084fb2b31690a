package clientconfig

import (
	_ "embed"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed clients.json
var table []byte

// clients are the rows of the table.
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

// A Client is a program that keeps MCP servers in a file of its own.
type Client struct {
	ID    string // such as "claude"
	Title string // such as "Claude Code"
	row   row
}

// A row of the table. Paths are by operating system, "" for all others, and begin
// with ~ or a variable, except those of a project.
type row struct {
	ID        string              `json:"id"`
	Title     string              `json:"title"`
	Also      []string            `json:"also"` // other names
	Format    string              `json:"format"`
	Key       []string            `json:"key"`    // where the servers are
	Within    []string            `json:"within"` // in a user's file: where there are more, by a project's folder and then Key
	Off       []string            `json:"off"`    // where the names of servers that are turned off are
	Inputs    string              `json:"inputs"` // where the questions are that ${input:id} names
	Limit     int64               `json:"limit"`  // the size of a file, if it may be more than usual
	User      map[string][]string `json:"user"`
	Project   map[string][]string `json:"project"`
	Variables string              `json:"variables"` // a name of expand.go's rules
	Types     map[string]string   `json:"types"`     // what is in the member type: stdio or http
	Fields    fields              `json:"fields"`
}

// fields are the names of an entry's members; empty where there is none.
type fields struct {
	Type       string   `json:"type"`
	Command    string   `json:"command"`
	Nested     string   `json:"nested"` // where Command may be an object with this, args and env
	Argv       string   `json:"argv"`   // the program and its arguments in one list
	Args       string   `json:"args"`
	Env        string   `json:"env"`
	EnvNames   string   `json:"env_names"` // variables that are passed on
	Dir        string   `json:"dir"`
	URL        []string `json:"url"` // the first that is there counts
	Headers    string   `json:"headers"`
	HeadNames  string   `json:"header_names"` // headers whose values are in variables
	BearerName string   `json:"bearer_name"`  // a variable with a token
	Disabled   string   `json:"disabled"`
	Enabled    string   `json:"enabled"`
}

// Clients are all that are known.
func Clients() []*Client { return slices.Clone(clients) }

// Find finds a client by its ID or another name for it.
func Find(name string) (*Client, bool) {
	for _, c := range clients {
		if c.ID == name || slices.Contains(c.row.Also, name) {
			return c, true
		}
	}
	return nil, false
}

// Places are where to look.
type Places struct {
	OS      string // as in runtime.GOOS; empty: this one
	Home    string // the user's folder
	Project string // the project's folder; empty: none
	// Getenv gives the variables that move files elsewhere, such as XDG_CONFIG_HOME.
	// Nil: none are set.
	Getenv func(name string) (string, bool)
}

// A Scope says whose file an entry is from.
type Scope string

const (
	User    Scope = "user"    // the user's own file
	Project Scope = "project" // a file in the project's folder: whoever can push may have written it
	Local   Scope = "local"   // the user's own file, for one project
)

// A File is where a client's servers may be.
type File struct {
	Path  string
	Scope Scope // User or Project
}

// Files are where the client looks, whether there is a file or not. Files that come
// later have the say.
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

func forOS(paths map[string][]string, os string) []string {
	if os == "" {
		os = runtime.GOOS
	}
	if p, ok := paths[os]; ok {
		return p
	}
	return paths[""]
}

// resolve fills in a path of the table. Without the user's folder there is none.
func (p Places) resolve(path string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "${"); ok {
		inside, after, _ := strings.Cut(rest, "}")
		name, otherwise, _ := strings.Cut(inside, ":-")
		value := otherwise
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
