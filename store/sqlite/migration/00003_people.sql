-- Who decides. A project with policy "person" whose accept is "lead" has the policy
-- "review": a program that does not know that policy sends its tasks to review too.
-- answered_as says whether a person or an agent answered a question.

-- +goose Up

ALTER TABLE projects ADD COLUMN accept TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN answered_as TEXT NOT NULL DEFAULT '';
