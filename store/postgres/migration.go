package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/bossman-dev/bossman/board"
)

// Schema is the number of the newest migration of this program, which Open requires.
const Schema = 34

//go:embed migration/*.sql
var migrations embed.FS

// Migrate migrates the database to Schema. Several processes may call it concurrently. Its
// role must be allowed to create tables. Roles that Grant was called for get access to
// new tables.
func Migrate(ctx context.Context, dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	sub, err := fs.Sub(migrations, "migration")
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, sub,
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	if err := up(ctx, p); err != nil {
		return fmt.Errorf("postgres: migrate: %w", translate(err))
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", unavailable(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := makeSearch(ctx, conn); err != nil {
		return fmt.Errorf("postgres: migrate: make the search index: %w", translate(err))
	}
	return restorePrivileges(ctx, conn)
}

// up applies the migrations that are missing. One that deadlocks with the replicas at work was
// rolled back, and runs again; those without a transaction can be repeated.
func up(ctx context.Context, p *goose.Provider) error {
	const most = 20
	for try := 1; ; try++ {
		_, err := p.Up(ctx)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "40P01" || try == most {
			return err
		}
	}
}

// checkSchema fails if the program cannot use the schema of the database. During a rolling
// upgrade an older program works with a newer schema, until a migration removes something
// that it needs.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	const query = `SELECT coalesce(max(g.version_id), 0), (SELECT needs FROM meta) FROM goose_db_version g WHERE g.is_applied`
	var have, needs int
	err := conn.QueryRow(ctx, query, pgx.QueryExecModeSimpleProtocol).Scan(&have, &needs)
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == "42P01": // undefined table
		return &SchemaError{Want: Schema}
	case ok && e.Code == "42501": // insufficient privilege
		return &RoleError{Role: conn.Config().User}
	case err != nil:
		return err
	case needs > Schema:
		return fmt.Errorf("%w (the database requires programs that know schema %d, and this one knows %d: install a newer Bossman here)", board.ErrTooNew, needs, Schema)
	case have < Schema:
		return &SchemaError{Have: have, Want: Schema}
	}
	return nil
}

// A SchemaError is returned if the database must be migrated first.
type SchemaError struct {
	// Have is what was found, 0 if nothing; Want is Schema.
	Have, Want int
}

func (e *SchemaError) Error() string {
	if e.Have == 0 {
		return "postgres: the database has no board yet"
	}
	return fmt.Sprintf("postgres: the database has schema %d and this program needs %d", e.Have, e.Want)
}

// A RoleError is returned if the role that connects has no rights on the board's tables;
// Grant gives them.
type RoleError struct{ Role string }

func (e *RoleError) Error() string {
	return fmt.Sprintf("postgres: role %s may not use the tables", e.Role)
}
