-- A live claim on the review of a task. It is apart from claims, because a program that
-- does not know it would count its expiry as a failure of the task.

-- +goose Up

CREATE TABLE reviews (
  task_id     INTEGER NOT NULL PRIMARY KEY REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  nonce       TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  worker      TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  session     TEXT    NOT NULL,
  granted_at  INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  lease       INTEGER NOT NULL,
  deliveries  INTEGER NOT NULL,
  UNIQUE (principal, worker)
) STRICT;
CREATE INDEX reviews_lease ON reviews (lease_until);
