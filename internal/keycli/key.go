package keycli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// keyFlags are the flags of bossman key create.
type keyFlags struct {
	role, person, owner, name, expires string
	agent                              bool
}

func (c *cli) createCommand() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key and print it once", Args: cobra.NoArgs,
		Long: `Create creates a key and prints it. Only a hash is stored, so a lost key cannot be
recovered: create a new one. Clients send it in the header X-Api-Token, or as
Authorization: Bearer.

An agent's key (the default) cannot do what is for people, such as answering questions.
Its owner is the person responsible for it: you, or the person that --owner names. If a
person is disabled, all of their keys stop working.`,
		Example: `  bossman key create --project web --role worker --name ci
  bossman key create --project '*' --role admin --person ada --expires 30d`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.createKey(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.role, "role", "worker", "what it may do: viewer, worker, lead or admin; each includes the ones before")
	cmd.Flags().StringVar(&f.person, "person", "", "create a key for this person")
	cmd.Flags().BoolVar(&f.agent, "agent", false, "create an agent's key (default)")
	cmd.Flags().StringVar(&f.owner, "owner", "", "person responsible for an agent's key (default: you)")
	cmd.Flags().StringVar(&f.name, "name", "", "name of the key, for people")
	cmd.Flags().StringVar(&f.expires, "expires", "90d", "lifetime: 12h, 90d, never")
	return cmd
}

func (c *cli) createKey(ctx context.Context, f keyFlags) error {
	if err := c.RefuseAgent(); err != nil {
		return err
	}
	if f.person != "" && (f.agent || f.owner != "") {
		return console.Usagef("--person creates a person's key; --agent and --owner are for an agent's key")
	}
	role, err := auth.ParseRole(f.role)
	if err != nil {
		return err
	}
	expires, err := parseExpiry(f.expires, time.Now())
	if err != nil {
		return console.Usagef("--expires: %w", err)
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	n := auth.NewKey{
		Name: f.name, Owner: cmp.Or(f.person, f.owner, d.User), Person: f.person != "", By: d.by(),
		Project: d.Named, Role: role, Expires: expires,
	}
	if n.Project != auth.EveryProject {
		if n.Project, err = d.Project(); err != nil {
			return err
		}
	}
	k, text, err := d.Keys.CreateKey(ctx, n)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(struct {
			Key string `json:"key"`
			keyJSON
		}{text.Reveal(), toKey(k, time.Now())})
	}
	c.Linef("%s", text.Reveal())
	until := "It does not expire."
	if !k.Expires.IsZero() {
		until = "It expires on " + k.Expires.Format(time.DateOnly) + "."
	}
	c.Infof("%s of %s, %s in %s. %s It is not shown again; to revoke it: bossman key revoke %s",
		map[bool]string{true: "A key", false: "An agent's key"}[k.Person], k.Owner, k.Role, projectText(k.Project), until, k.ID)
	return nil
}

// parseExpiry is when a key with a lifetime expires, the zero time for never.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if s == "never" {
		return time.Time{}, nil
	}
	const most = 10 * 365
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= most {
			return now.AddDate(0, 0, n), nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d > 0 && d <= most*24*time.Hour {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("invalid lifetime %q: want one such as 12h or 90d, at most %dd, or never", s, most)
}

func (c *cli) listCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List active keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			keys, err := d.Keys.Keys(cmd.Context())
			if err != nil {
				return err
			}
			now := time.Now()
			keys = slices.DeleteFunc(keys, func(k auth.Key) bool {
				return !all && keyState(k, now) != keyActive || d.Named != "" && k.Project != d.Named
			})
			if c.JSON {
				list := []keyJSON{}
				for _, k := range keys {
					list = append(list, toKey(k, now))
				}
				return c.PrintJSON(struct {
					Keys []keyJSON `json:"keys"`
				}{list})
			}
			if len(keys) == 0 {
				c.Linef("No keys.")
				return nil
			}
			c.Table("", []console.Column{
				{Head: "KEY"},
				{Head: "NAME", Flex: true},
				{Head: "OWNER"},
				{Head: "FOR"},
				{Head: "PROJECT"},
				{Head: "ROLE"},
				{Head: "EXPIRES", Drop: 1},
				{Head: "LAST USED", Drop: 2},
				{Head: ""},
			}, keyRows(keys, now))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list revoked and expired keys")
	return cmd
}

func keyRows(keys []auth.Key, now time.Time) (rows []console.Row) {
	for _, k := range keys {
		state, expires := keyState(k, now), "never"
		if state == keyActive {
			state = ""
		}
		if !k.Expires.IsZero() {
			expires = k.Expires.Format(time.DateOnly)
		}
		rows = append(rows, console.Row{
			console.Cyan.Cell(k.ID),
			console.Text(k.Name),
			console.Text(k.Owner),
			console.Text(map[bool]string{true: "person", false: "agent"}[k.Person]),
			console.Text(k.Project),
			console.Text(k.Role.String()),
			console.Dim.Cell(expires),
			console.Dim.Cell(boardtext.Ago(now, k.LastUsed)),
			console.Yellow.Cell(state),
		})
	}
	return rows
}

func (c *cli) revokeCommand() *cobra.Command {
	var owner, machine string
	cmd := &cobra.Command{
		Use: "revoke [ID…]", Short: "Revoke a key and all keys created from it",
		Long: `Revoke revokes a key for good, and with it every key that bossman login created from it.
Within five seconds every server rejects them and closes their open streams. What their
agents held is ready for others. ID is the middle part of the key, as bossman key list
shows it. --machine revokes the keys of a machine that was lost, with --owner only those of
one person.`,
		Example: "  bossman key revoke bq3v6kfz2m7a\n  bossman key revoke --machine laptop --owner ada",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if (len(ids) == 0) == (machine == "") || owner != "" && machine == "" {
				return console.Usagef("name keys by their ids, or a machine with --machine, and its --owner")
			}
			return c.loseKeys(cmd.Context(), ids, keyRevoked, "its key was revoked", func(k auth.Key) bool {
				return machine != "" && k.Machine == machine && k.Revoked.IsZero() && (owner == "" || k.Owner == owner)
			}, func(d *Desk, id string) ([]string, error) {
				return d.Keys.RevokeKey(cmd.Context(), id, d.by())
			})
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "revoke all keys of this machine")
	cmd.Flags().StringVar(&owner, "owner", "", "with --machine: only this person's")
	return cmd
}

func (c *cli) lowerCommand() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "lower ID…", Short: "Take rights from a key and from all keys created from it", Args: cobra.MinimumNArgs(1),
		Long: `Lower takes rights from a key: --role gives it a lower role, and --project limits a key for
every project to one. The same holds for every key that bossman login created from it.
Within five seconds every server knows it and closes their open streams; clients come back
with what is left. What their agents held is ready for others.`,
		Example: "  bossman key lower bq3v6kfz2m7a --role viewer\n  bossman key lower bq3v6kfz2m7a --role worker --project web",
		RunE: func(cmd *cobra.Command, ids []string) error {
			r, err := auth.ParseRole(role)
			if err != nil {
				return err
			}
			return c.loseKeys(cmd.Context(), ids, "lowered to "+r.String(), "its key was lowered", nil,
				func(d *Desk, id string) ([]string, error) {
					return d.Keys.LowerKey(cmd.Context(), id, cmp.Or(d.Named, auth.EveryProject), r, d.by())
				})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "what it may still do: viewer, worker, lead or admin")
	_ = cmd.MarkFlagRequired("role")
	return cmd
}

// loseKeys takes rights from keys by their ids, or from those that match, and gives back
// what was held with them. lose returns the ids of all keys that it has changed.
func (c *cli) loseKeys(ctx context.Context, ids []string, done, reason string, match func(auth.Key) bool, lose func(*Desk, string) ([]string, error)) error {
	if err := c.RefuseAgent(); err != nil {
		return err
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		keys, err := d.Keys.Keys(ctx)
		if err != nil {
			return err
		}
		for _, k := range slices.DeleteFunc(keys, func(k auth.Key) bool { return !match(k) }) {
			ids = append(ids, k.ID)
		}
		if len(ids) == 0 {
			return console.Errorf(console.NotFound, "bossman key list lists the keys", "that machine has no keys")
		}
	}
	return c.each(ids, func(id string) error {
		if auth.CheckKey(id) == nil { // the whole key; it is not repeated
			id = strings.Split(id, "_")[1]
		}
		before, err := d.Board.Claims(ctx, board.ClaimFilter{})
		if err != nil {
			return err
		}
		changed, err := lose(d, id)
		if errors.Is(err, auth.ErrNotFound) {
			return console.Errorf(console.NotFound, "bossman key list --all lists the keys", "there is no such key")
		} else if err != nil {
			return err
		}
		var principals []string
		for _, id := range changed {
			principals = append(principals, auth.KeyPrincipal(id))
		}
		released, err := d.dismiss(ctx, reason, principals, before)
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(changed, func(x string) bool { return x == id })
		if c.JSON {
			return c.PrintJSON(struct {
				ID       string   `json:"id"`
				Revoked  bool     `json:"revoked"`
				Children []string `json:"children,omitzero"`
				Released []string `json:"released,omitzero"`
			}{id, done == keyRevoked, others, boardtext.IDs(released)})
		}
		with := ""
		if len(others) > 0 {
			with = ", with " + console.Count(len(others), "key") + " created from it"
		}
		c.Linef("%s is %s%s.%s", id, done, with, boardtext.Released(released))
		return nil
	})
}

// The states of a key.
const (
	keyActive   = "active"
	keyRevoked  = "revoked"
	keyExpired  = "expired"
	keyDisabled = "disabled" // the owner is
)

func keyState(k auth.Key, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return keyRevoked
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return keyExpired
	case !k.OwnerDisabled.IsZero():
		return keyDisabled
	}
	return keyActive
}

type keyJSON struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Owner      string     `json:"owner"`
	Person     bool       `json:"person"`
	Project    string     `json:"project"`
	Role       string     `json:"role"`
	State      string     `json:"state"`
	Machine    string     `json:"machine,omitzero"`
	Parent     string     `json:"parent,omitzero"`
	CreatedBy  string     `json:"created_by,omitzero"`
	RevokedBy  string     `json:"revoked_by,omitzero"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitzero"`
	LastUsedAt *time.Time `json:"last_used_at,omitzero"`
	RevokedAt  *time.Time `json:"revoked_at,omitzero"`
}

func toKey(k auth.Key, now time.Time) keyJSON {
	return keyJSON{
		ID: k.ID, Name: k.Name, Owner: k.Owner, Person: k.Person, Project: k.Project, Role: k.Role.String(), State: keyState(k, now),
		Machine: k.Machine, Parent: k.Parent, CreatedBy: k.CreatedBy, RevokedBy: k.RevokedBy, CreatedAt: k.Created.UTC(), ExpiresAt: boardjson.Time(k.Expires), LastUsedAt: boardjson.Time(k.LastUsed), RevokedAt: boardjson.Time(k.Revoked),
	}
}

func projectText(p string) string {
	if p == auth.EveryProject {
		return "every project"
	}
	return p
}
