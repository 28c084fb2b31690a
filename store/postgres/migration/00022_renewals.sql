-- Renewals write no index: that of the times at which leases end made each of them write to
-- all indexes of claims. The sweep looks at all live claims instead.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it.
DROP INDEX CONCURRENTLY IF EXISTS claims_lease;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS claims_lease;
CREATE INDEX CONCURRENTLY claims_lease ON claims (lease_until);
