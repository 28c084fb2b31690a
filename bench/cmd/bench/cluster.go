package main

import (
	"errors"

	"github.com/bossman-dev/bossman/internal/pgtest"
)

// newCluster starts PostgreSQL with lines for its configuration file. It returns nil where its
// programs are absent and nothing is checked: then the suite is left out.
func newCluster(o *options, settings ...string) (*pgtest.Cluster, error) {
	say("starting PostgreSQL")
	c, err := pgtest.New(settings...)
	if errors.Is(err, pgtest.ErrAbsent) && !o.check {
		say("left out: %v", err)
		return nil, nil
	}
	return c, err
}

// remove removes a cluster that newCluster started.
func remove(c *pgtest.Cluster) {
	if err := c.Remove(); err != nil {
		say("the cluster was not removed: %v", err)
	}
}
