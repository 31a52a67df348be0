package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/backends/sqlite"
	"github.com/FerretDB/FerretDB/internal/clientconn/conninfo"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/iterator"
	"github.com/FerretDB/FerretDB/internal/util/state"
)

// importBatch is how many documents one batch of an import has.
const importBatch = 500

// ImportSQLite imports the databases that earlier versions stored as SQLite files in dir. It does not change the files
// and imports each of them once. An interrupted import begins again.
func (s *Store) ImportSQLite(dir string, provider *state.Provider) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.sqlite"))
	if err != nil || len(files) == 0 {
		return err
	}
	var pending []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sqlite")
		_, closer, err := s.db.Get(importedKey(name))
		if err == nil {
			closer.Close()
			continue
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
		pending = append(pending, name)
	}
	if len(pending) == 0 {
		return nil
	}
	ctx := conninfo.Ctx(context.Background(), conninfo.New())
	old, err := sqlite.NewBackend(&sqlite.NewBackendParams{
		URI: "file:" + filepath.ToSlash(dir) + "/", L: s.logger, P: provider, BatchSize: 100,
	})
	if err != nil {
		return err
	}
	defer old.Close()
	for _, name := range pending {
		s.logger.Warn("importing a database of an earlier version", slog.String("database", name))
		if err := s.importDatabase(ctx, old, name); err != nil {
			return err
		}
		if err := s.db.Set(importedKey(name), nil, pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

func importedKey(name string) []byte { return append([]byte{prefixImported}, name...) }

func (s *Store) importDatabase(ctx context.Context, from backends.Backend, name string) error {
	if _, err := s.catalog.removeDatabase(name); err != nil {
		return err
	}
	database, err := from.Database(name)
	if err != nil {
		return err
	}
	list, err := database.ListCollections(ctx, nil)
	if err != nil {
		return err
	}
	for _, info := range list.Collections {
		source, err := database.Collection(info.Name)
		if err != nil {
			return err
		}
		if err := s.importCollection(ctx, source, name, info.Name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) importCollection(ctx context.Context, from backends.Collection, database, name string) error {
	to := &collectionView{s, database, name}
	if _, _, err := s.catalog.create(database, name); err != nil {
		return err
	}
	result, err := from.Query(ctx, nil)
	if err != nil {
		return err
	}
	defer result.Iter.Close()
	for done := false; !done; {
		batch, err := iterator.ConsumeValuesN[struct{}, *types.Document](result.Iter, importBatch)
		if err != nil {
			return err
		}
		done = len(batch) < importBatch
		if _, err := to.InsertAll(ctx, &backends.InsertAllParams{Docs: batch}); err != nil {
			return err
		}
	}
	indexes, err := from.ListIndexes(ctx, nil)
	if err != nil {
		return err
	}
	_, err = to.CreateIndexes(ctx, &backends.CreateIndexesParams{Indexes: indexes.Indexes})
	return err
}
