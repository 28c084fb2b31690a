-- New tasks get into the search index in batches: 158 entries for each of them, one by one, were
-- 24 KiB of write-ahead log. A search looks through what is pending as well. Where there is no
-- index yet, search.go makes it like this.

-- +goose Up

-- +goose StatementBegin
DO $$ BEGIN
	IF to_regclass('search_text') IS NOT NULL THEN
		ALTER INDEX search_text SET (fastupdate = on, gin_pending_list_limit = 4096);
	END IF;
END $$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
DO $$ BEGIN
	IF to_regclass('search_text') IS NOT NULL THEN
		ALTER INDEX search_text SET (fastupdate = off);
		ALTER INDEX search_text RESET (gin_pending_list_limit);
	END IF;
END $$;
-- +goose StatementEnd
