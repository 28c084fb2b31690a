-- Who decides. A project with policy "person" whose accept is "lead" has the policy
-- "review": a program that does not know that policy sends its tasks to review too.
-- answered_as says whether a person or an agent answered a question.

-- +goose Up

ALTER TABLE projects ADD COLUMN accept text NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN answered_as text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE questions DROP COLUMN answered_as;
ALTER TABLE projects DROP COLUMN accept;
