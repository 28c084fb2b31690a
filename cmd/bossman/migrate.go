package main

import (
	"github.com/spf13/cobra"
)

func (a *app) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring a server's database up to date", Args: cobra.NoArgs,
		Long: `Migrate creates or updates the tables of a PostgreSQL database. A board in a file
needs none: it is brought up to date when it is opened, and a copy kept beside it.`,
		Example: "  bossman migrate --db postgres://bossman@db.example.org/bossman",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, _, err := a.settle()
			if s == nil {
				return err
			}
			if s.DB == "" {
				return usage("say which database: bossman migrate --db postgres://…")
			}
			if !isPostgres(s.DB) {
				return usage("%s: %q is not an address such as postgres://user@host/name", s.Origin["db"], hidePassword(s.DB))
			}
			if err := migratePostgres(cmd.Context(), s.DB); err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(struct {
					DB       string `json:"db"`
					Migrated bool   `json:"migrated"`
				}{hidePassword(s.DB), true})
			}
			a.say("%s is up to date.", hidePassword(s.DB))
			return nil
		},
	}
}
