// Package teamserver runs the server of a team as an operator does: a database with
// an owner and an application's role, keys made on the command line, replicas as
// processes, and a load balancer before them that sends every request to another.
//
//	clients ──► Balancer ──┬──► Replica 0 ──┐
//	                       ├──► Replica 1 ──┼──► PostgreSQL
//	                       └──► Replica 2 ──┘
package teamserver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// Project is the one that a Team has.
const Project = "web"

// A Team is the server of a team.
type Team struct {
	*Balancer
	Replicas []*Replica

	bossman string // the program
	cluster *pgtest.Cluster
	dsn     string // as the application's role
	home    string // of the operator
}

// Start makes a database and starts n replicas of the program at path, each with these
// flags more. All of it ends with the test.
func Start(t testing.TB, bossman string, n int, flags ...string) *Team {
	t.Helper()
	cluster := pgtest.Start(t, "max_connections = 300")
	cluster.Roles(t)
	cluster.Exec(t, "postgres", "CREATE DATABASE team OWNER "+pgtest.Owner)
	team := &Team{
		Balancer: newBalancer(), bossman: bossman, cluster: cluster,
		dsn: cluster.DSNAs(pgtest.App, "team"), home: harness.Home(t),
	}
	t.Cleanup(team.close)
	team.run(t, "", "migrate", "--db", cluster.DSNAs(pgtest.Owner, "team"), "--app-role", pgtest.App)
	team.Operate(t, "project", "create", Project)
	team.Key(t, "--role", "admin", "--person", "ada") // so that the replicas have one to begin with
	for i := range n {
		r := &Replica{team: team, no: i, flags: flags, log: &tail{}}
		r.Start(t)
		team.Replicas = append(team.Replicas, r)
	}
	t.Cleanup(func() {
		for _, r := range team.Replicas {
			r.end(t)
		}
	})
	return team
}

// MCP is the address of the endpoint, behind the balancer.
func (team *Team) MCP() string { return team.URL() + "/mcp" }

// Operate runs a command at the database, as who runs the server.
func (team *Team) Operate(t testing.TB, args ...string) string {
	t.Helper()
	return team.run(t, "", append(args, "--db", team.dsn)...)
}

// Key makes a key for the project.
func (team *Team) Key(t testing.TB, flags ...string) string {
	t.Helper()
	return strings.TrimSpace(team.Operate(t, append([]string{"key", "create", "--project", Project}, flags...)...))
}

// Laptop is a repository whose board is a project of the team's server, on a machine
// that has logged in with a key.
func (team *Team) Laptop(t testing.TB, key, project string) *Laptop {
	t.Helper()
	l := &Laptop{team: team, Dir: harness.Repository(t, project)}
	l.Home = filepath.Dir(l.Dir)
	if err := os.Mkdir(filepath.Join(l.Dir, ".bossman"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := "board = \"" + team.URL() + "\"\nproject = \"" + project + "\"\n"
	if err := os.WriteFile(filepath.Join(l.Dir, ".bossman", "config.toml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Git(t, l.Dir, "add", ".")
	harness.Git(t, l.Dir, "commit", "-q", "-m", "the board is the team's")
	l.run(t, key+"\n", "login", team.URL())
	return l
}

// A Laptop is a machine of somebody in the team.
type Laptop struct {
	Dir, Home string
	team      *Team
}

// Run runs bossman in the repository, as a person does.
func (l *Laptop) Run(t testing.TB, args ...string) string {
	t.Helper()
	return l.run(t, "", args...)
}

func (l *Laptop) run(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	return command(t, l.Home, l.Dir, stdin, append([]string{l.team.bossman}, args...)...)
}

func (team *Team) run(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	return command(t, team.home, team.home, stdin, append([]string{team.bossman}, args...)...)
}

func command(t testing.TB, home, dir, stdin string, argv ...string) string {
	t.Helper()
	cmd := harness.Command(t.Context(), home, argv...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "BOSSMAN_PERSON=1")
	cmd.Stdin = strings.NewReader(stdin)
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("bossman %s: exit code %d\n%s", strings.Join(argv[1:], " "), out.Code, out.Stderr)
	}
	return out.Stdout
}

// Store opens the database, beside the replicas.
func (team *Team) Store(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), team.dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Events reads all that has happened on the board.
func (team *Team) Events(t testing.TB) []board.Event {
	t.Helper()
	store := team.Store(t)
	var all []board.Event
	var after board.Cursor
	for {
		var page []board.Event
		err := store.Read(t.Context(), func(r board.Reader) (err error) {
			page, err = r.Feed(nil, after, 1000)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Cursor
	}
}

// SQL runs a query that gives one number, as somebody who may read everything.
func (team *Team) SQL(t testing.TB, query string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), team.cluster.DSN("team"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
