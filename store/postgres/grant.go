package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// grants are what the program does with each table, and so all that its role may.
// Roles are managed by whoever runs the migrations; the program neither changes
// tables nor what events say, nor which programs a schema is for.
var grants = map[string]string{
	"goose_db_version": "SELECT",
	"meta":             "SELECT, UPDATE (feed_epoch, system_id, timeline)",
	"events":           "SELECT, INSERT",
	"app_roles":        "",

	"projects":         "SELECT, INSERT, UPDATE, DELETE",
	"project_counters": "SELECT, INSERT, UPDATE, DELETE",
	"lanes":            "SELECT, INSERT, UPDATE, DELETE",
	"tasks":            "SELECT, INSERT, UPDATE, DELETE",
	"task_docs":        "SELECT, INSERT, UPDATE, DELETE",
	"links":            "SELECT, INSERT, UPDATE, DELETE",
	"claims":           "SELECT, INSERT, UPDATE, DELETE",
	"claim_areas":      "SELECT, INSERT, UPDATE, DELETE",
	"declines":         "SELECT, INSERT, UPDATE, DELETE",
	"attempts":         "SELECT, INSERT, UPDATE, DELETE",
	"workers":          "SELECT, INSERT, UPDATE, DELETE",
	"questions":        "SELECT, INSERT, UPDATE, DELETE",
	"idempotency":      "SELECT, INSERT, UPDATE, DELETE",

	"auth_meta": "SELECT, UPDATE",
	"api_keys":  "SELECT, INSERT, UPDATE, DELETE",
	"people":    "SELECT, INSERT, UPDATE, DELETE",

	"durable_calls":  "SELECT, INSERT, UPDATE, DELETE",
	"session_states": "SELECT, INSERT, UPDATE, DELETE",
	"relay":          "SELECT, INSERT, UPDATE, DELETE", // FOR UPDATE wants the right to
	"seal_keys":      "SELECT, INSERT, UPDATE, DELETE",
}

// Grant lets a role use the tables and do nothing else, whatever it was granted
// before. The role must be there; dsn is of the role that owns the tables. Migrate
// does it again for tables that are new.
func Grant(ctx context.Context, dsn, role string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("postgres: grant: %w", unavailable(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkSchema(ctx, conn); err != nil {
		return err
	}
	const keep = `INSERT INTO app_roles (role) VALUES ($1) ON CONFLICT DO NOTHING`
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		if err := allow(ctx, t, role); err != nil {
			return err
		}
		_, err := t.Exec(ctx, keep, role)
		return err
	})
}

// grantAgain is Grant for all roles that had it and are still there.
func grantAgain(ctx context.Context, conn *pgx.Conn) error {
	const roles = `SELECT role FROM app_roles WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = role) ORDER BY role`
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, roles)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, role := range names {
			if err == nil {
				err = allow(ctx, t, role)
			}
		}
		return err
	})
}

func allow(ctx context.Context, t pgx.Tx, role string) error {
	const query = `
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
	coalesce((SELECT rolsuper OR pg_has_role(rolname, (SELECT relowner FROM pg_class WHERE oid = 'meta'::regclass), 'MEMBER') FROM pg_roles WHERE rolname = $1), false),
	quote_ident(current_schema())`
	var exists, owner bool
	var schema string
	if err := t.QueryRow(ctx, query, role).Scan(&exists, &owner, &schema); err != nil {
		return fmt.Errorf("postgres: grant: %w", err)
	}
	name := pgx.Identifier{role}.Sanitize()
	switch {
	case !exists:
		return fmt.Errorf("postgres: grant: there is no role %s; create it first, for example: CREATE ROLE %s LOGIN PASSWORD '…'", name, name)
	case owner:
		return fmt.Errorf("postgres: grant: role %s may change the tables: it owns them, or is a member of the role that does, or a superuser; name another", name)
	}
	statements := []string{"GRANT USAGE ON SCHEMA " + schema + " TO " + name}
	for table, rights := range grants {
		statements = append(statements, "REVOKE ALL ON "+table+" FROM "+name)
		if rights != "" {
			statements = append(statements, "GRANT "+rights+" ON "+table+" TO "+name)
		}
	}
	for _, s := range statements {
		if _, err := t.Exec(ctx, s); err != nil {
			return fmt.Errorf("postgres: grant to %s: %w", name, err)
		}
	}
	var creates bool
	if err := t.QueryRow(ctx, `SELECT has_schema_privilege($1, current_schema(), 'CREATE')`, role).Scan(&creates); err != nil {
		return fmt.Errorf("postgres: grant: %w", err)
	}
	if creates {
		return fmt.Errorf("postgres: grant: role %s may create tables in schema %s; run as its owner: REVOKE CREATE ON SCHEMA %s FROM PUBLIC, %s",
			name, schema, schema, name)
	}
	return nil
}
