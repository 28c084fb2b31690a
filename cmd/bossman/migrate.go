package main

import (
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) migrateCommand() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring a server's database up to date", Args: cobra.NoArgs,
		Long: `Migrate creates or updates the tables of a PostgreSQL database. A board in a file does
not need it: opening the file updates it and keeps a copy beside it.

The role that migrates owns the tables. Servers connect as another role, which may use
the tables and nothing else: create that role, and name it once with --app-role. Later
migrations give it rights on the tables that they add.`,
		Example: `  bossman migrate --db postgres://bossman_owner@db.example.org/bossman
  bossman migrate --db postgres://bossman_owner@db.example.org/bossman --app-role bossman_app`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.settings()
			if err != nil {
				return err
			}
			if s.DB == "" {
				return console.Usagef("name the database: bossman migrate --db postgres://…")
			}
			if !isPostgres(s.DB) {
				return console.Usagef("%s: %q is not an address such as postgres://user@host/name", s.Origin["db"], config.HidePassword(s.DB))
			}
			if err := migratePostgres(cmd.Context(), s.DB, role); err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(struct {
					DB       string `json:"db"`
					Migrated bool   `json:"migrated"`
					AppRole  string `json:"app_role,omitzero"`
				}{config.HidePassword(s.DB), true, role})
			}
			a.Linef("%s is up to date.", config.HidePassword(s.DB))
			if role != "" {
				a.Linef("Role %s may use its tables, and nothing else.", role)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "app-role", "", "role that servers connect as; gets the right to use the tables")
	return cmd
}
