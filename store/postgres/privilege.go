package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// privileges are the SQL privileges of the program's role on each table: the minimum that
// the program needs. It cannot change tables, events other than to archive or erase them, or which programs a schema is for.
// The owner of the tables manages roles.
var privileges = map[string]string{
	"goose_db_version": "SELECT",
	"meta":             "SELECT, UPDATE (feed_epoch, system_id, timeline, floor_epoch, floor_xid, floor_id)",
	"events":           "SELECT, INSERT, DELETE, UPDATE (detail)", // as far as triggers allow
	"archives":         "SELECT, INSERT",
	"app_roles":        "",
	"counted":          "SELECT, UPDATE",
	"task_counts":      "SELECT, INSERT, UPDATE",
	"states_counted":   "SELECT, UPDATE",
	"state_counts":     "SELECT, INSERT, UPDATE",

	"projects":         "SELECT, INSERT, UPDATE, DELETE",
	"project_counters": "SELECT, INSERT, UPDATE, DELETE",
	"lanes":            "SELECT, INSERT, UPDATE, DELETE",
	"tasks":            "SELECT, INSERT, UPDATE, DELETE",
	"task_docs":        "SELECT, INSERT, UPDATE, DELETE",
	"links":            "SELECT, INSERT, UPDATE, DELETE",
	"search":           "SELECT, INSERT, UPDATE, DELETE",
	"plan_items":       "SELECT, INSERT, UPDATE, DELETE",
	"claims":           "SELECT, INSERT, UPDATE, DELETE",
	"reviews":          "SELECT, INSERT, UPDATE, DELETE",
	"claim_areas":      "SELECT, INSERT, UPDATE, DELETE",
	"declines":         "SELECT, INSERT, UPDATE, DELETE",
	"attempts":         "SELECT, INSERT, UPDATE, DELETE",
	"runs":             "SELECT, INSERT, UPDATE, DELETE",
	"run_logs":         "SELECT, INSERT, DELETE",
	"diffs":            "SELECT, INSERT, UPDATE, DELETE",
	"landers":          "SELECT, INSERT, UPDATE",
	"intents":          "SELECT, INSERT, UPDATE, DELETE",
	"intent_items":     "SELECT, INSERT, DELETE",
	"workers":          "SELECT, INSERT, UPDATE, DELETE",
	"questions":        "SELECT, INSERT, UPDATE, DELETE",
	"idempotency":      "SELECT, INSERT, UPDATE, DELETE",
	"sweep":            "SELECT, UPDATE",

	"auth_meta": "SELECT, UPDATE",
	"api_keys":  "SELECT, INSERT, UPDATE, DELETE",
	"people":    "SELECT, INSERT, UPDATE, DELETE",

	"push_targets":    "SELECT, INSERT, UPDATE, DELETE",
	"push_deliveries": "SELECT, INSERT, UPDATE, DELETE",
	"push_keys":       "SELECT, INSERT",

	"gateway_calls":      "SELECT, INSERT, UPDATE, DELETE",
	"gateway_reads":      "SELECT, INSERT, UPDATE, DELETE",
	"gateway_artifacts":  "SELECT, INSERT, UPDATE, DELETE", // FOR UPDATE needs UPDATE
	"gateway_catalogues": "SELECT, INSERT, UPDATE, DELETE",
	"gateway_pins":       "SELECT, INSERT, UPDATE, DELETE",

	"durable_calls":  "SELECT, INSERT, UPDATE, DELETE",
	"session_states": "SELECT, INSERT, UPDATE, DELETE",
	"relay":          "SELECT, INSERT, UPDATE, DELETE", // FOR UPDATE needs UPDATE
	"seal_keys":      "SELECT, INSERT, UPDATE, DELETE",
}

// Grant gives a role the SQL privileges that the program needs, and revokes all others. The
// role must exist; dsn connects as the owner of the tables. Migrate repeats it for new
// tables.
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
		if err := setPrivileges(ctx, t, role); err != nil {
			return err
		}
		_, err := t.Exec(ctx, keep, role)
		return err
	})
}

// restorePrivileges repeats Grant for all roles that it was called for.
func restorePrivileges(ctx context.Context, conn *pgx.Conn) error {
	const roles = `SELECT role FROM app_roles WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = role) ORDER BY role`
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, roles)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, role := range names {
			if err == nil {
				err = setPrivileges(ctx, t, role)
			}
		}
		return err
	})
}

// setPrivileges gives a role exactly the privileges that the program needs.
func setPrivileges(ctx context.Context, t pgx.Tx, role string) error {
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
		return fmt.Errorf("postgres: grant: role %s does not exist; create it first, for example: CREATE ROLE %s LOGIN PASSWORD '…'", name, name)
	case owner:
		return fmt.Errorf("postgres: grant: role %s can change the tables, because it owns them, is a member of their owner, or is a superuser; use another role", name)
	}
	statements := []string{"GRANT USAGE ON SCHEMA " + schema + " TO " + name, "GRANT EXECUTE ON FUNCTION require_landing() TO " + name}
	for table, rights := range privileges {
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
		return fmt.Errorf("postgres: grant: role %s can create tables in schema %s; run as its owner: REVOKE CREATE ON SCHEMA %s FROM PUBLIC, %s",
			name, schema, schema, name)
	}
	return nil
}
