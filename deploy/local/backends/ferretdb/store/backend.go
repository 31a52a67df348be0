package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/types"
)

// Backend is the storage as FerretDB's handlers use it.
type Backend struct{ *Store }

// NewBackend returns a store as a FerretDB backend.
func NewBackend(s *Store) backends.Backend { return &Backend{s} }

func (b *Backend) Status(context.Context, *backends.StatusParams) (*backends.StatusResult, error) {
	var result backends.StatusResult
	for _, name := range b.catalog.databaseNames() {
		result.CountCollections += int64(len(b.catalog.collections(name)))
	}
	return &result, nil
}

func (b *Backend) Database(name string) (backends.Database, error) {
	return backends.DatabaseContract(&databaseView{b.Store, name}), nil
}

func (b *Backend) ListDatabases(
	_ context.Context, params *backends.ListDatabasesParams,
) (*backends.ListDatabasesResult, error) {
	var result backends.ListDatabasesResult
	for _, name := range b.catalog.databaseNames() {
		if params == nil || params.Name == "" || params.Name == name {
			result.Databases = append(result.Databases, backends.DatabaseInfo{Name: name})
		}
	}
	return &result, nil
}

func (b *Backend) DropDatabase(_ context.Context, params *backends.DropDatabaseParams) error {
	removed, err := b.catalog.removeDatabase(params.Name)
	if err == nil && !removed {
		return backends.NewError(backends.ErrorCodeDatabaseDoesNotExist, nil)
	}
	return err
}

func (b *Backend) Describe(chan<- *prometheus.Desc) {}
func (b *Backend) Collect(chan<- prometheus.Metric) {}

type databaseView struct {
	store *Store
	name  string
}

func (d *databaseView) Collection(name string) (backends.Collection, error) {
	return backends.CollectionContract(&collectionView{d.store, d.name, name}), nil
}

func (d *databaseView) ListCollections(
	_ context.Context, params *backends.ListCollectionsParams,
) (*backends.ListCollectionsResult, error) {
	var result backends.ListCollectionsResult
	for _, coll := range d.store.catalog.collections(d.name) {
		if params == nil || params.Name == "" || params.Name == coll.name {
			result.Collections = append(result.Collections, backends.CollectionInfo{Name: coll.name, UUID: coll.uuid})
		}
	}
	return &result, nil
}

func (d *databaseView) CreateCollection(_ context.Context, params *backends.CreateCollectionParams) error {
	if params.Capped() {
		return errors.New("capped collections are not supported")
	}
	_, created, err := d.store.catalog.create(d.name, params.Name)
	if err == nil && !created {
		return backends.NewError(backends.ErrorCodeCollectionAlreadyExists, nil)
	}
	return err
}

func (d *databaseView) DropCollection(_ context.Context, params *backends.DropCollectionParams) error {
	removed, err := d.store.catalog.remove(d.name, params.Name)
	if err == nil && !removed {
		return backends.NewError(backends.ErrorCodeCollectionDoesNotExist, nil)
	}
	return err
}

func (d *databaseView) RenameCollection(_ context.Context, params *backends.RenameCollectionParams) error {
	coll := d.store.catalog.get(d.name, params.OldName)
	if coll == nil {
		return backends.NewError(backends.ErrorCodeCollectionDoesNotExist, fmt.Errorf("no collection %s", params.OldName))
	}
	if d.store.catalog.get(d.name, params.NewName) != nil {
		return backends.NewError(backends.ErrorCodeCollectionAlreadyExists, fmt.Errorf("collection %s exists", params.NewName))
	}
	return d.store.catalog.rename(coll, params.NewName)
}

func (d *databaseView) Stats(context.Context, *backends.DatabaseStatsParams) (*backends.DatabaseStatsResult, error) {
	collections := d.store.catalog.collections(d.name)
	if len(collections) == 0 {
		return nil, backends.NewError(backends.ErrorCodeDatabaseDoesNotExist, fmt.Errorf("no database %s", d.name))
	}
	var result backends.DatabaseStatsResult
	for _, coll := range collections {
		stats, err := d.store.stats(coll)
		if err != nil {
			return nil, err
		}
		result.CountDocuments += stats.CountDocuments
		result.SizeCollections += stats.SizeCollection
		result.SizeIndexes += stats.SizeIndexes
	}
	result.SizeTotal = result.SizeCollections + result.SizeIndexes
	return &result, nil
}

type collectionView struct {
	store          *Store
	database, name string
}

func (c *collectionView) existing() *collection { return c.store.catalog.get(c.database, c.name) }

func (c *collectionView) Query(_ context.Context, params *backends.QueryParams) (*backends.QueryResult, error) {
	result, err := c.store.Find(c.database, c.name, &Query{Filter: params.Filter, Limit: params.Limit})
	if err != nil {
		return nil, err
	}
	return &backends.QueryResult{Iter: result.Documents()}, nil
}

func (c *collectionView) InsertAll(
	_ context.Context, params *backends.InsertAllParams,
) (*backends.InsertAllResult, error) {
	raws := make([][]byte, len(params.Docs))
	for i, document := range params.Docs {
		var err error
		if raws[i], err = encodeDocument(document); err != nil {
			return nil, err
		}
	}
	if err := c.store.Insert(c.database, c.name, raws); err != nil {
		return nil, insertError(err)
	}
	return new(backends.InsertAllResult), nil
}

func insertError(err error) error {
	if errors.Is(err, errDuplicate) {
		return backends.NewError(backends.ErrorCodeInsertDuplicateID, err)
	}
	return err
}

// Insert adds documents, all or none of them. The caller has the right to write to the collection.
func (s *Store) Insert(database, name string, raws [][]byte) error {
	coll, _, err := s.catalog.create(database, name)
	if err != nil {
		return err
	}
	insert := s.newChange(coll)
	defer insert.close()
	for _, raw := range raws {
		if err := insert.insert(raw); err != nil {
			return err
		}
	}
	return insert.commit()
}

func (c *collectionView) UpdateAll(
	_ context.Context, params *backends.UpdateAllParams,
) (*backends.UpdateAllResult, error) {
	var result backends.UpdateAllResult
	coll := c.existing()
	if coll == nil {
		return &result, nil
	}
	update := c.store.newChange(coll)
	defer update.close()
	for _, document := range params.Docs {
		raw, err := encodeDocument(document)
		if err != nil {
			return nil, err
		}
		replaced, err := update.replace(raw)
		if err != nil {
			return nil, insertError(err)
		}
		if replaced {
			result.Updated++
		}
	}
	return &result, update.commit()
}

func (c *collectionView) DeleteAll(
	_ context.Context, params *backends.DeleteAllParams,
) (*backends.DeleteAllResult, error) {
	var result backends.DeleteAllResult
	coll := c.existing()
	if coll == nil {
		return &result, nil
	}
	if params.RecordIDs != nil {
		return nil, errors.New("documents cannot be deleted by record number")
	}
	remove := c.store.newChange(coll)
	defer remove.close()
	for _, id := range params.IDs {
		value, err := encodeValue(id)
		if err != nil {
			return nil, err
		}
		removed, err := remove.remove(appendValue(slices.Clone(coll.idIndex.prefix), value))
		if err != nil {
			return nil, err
		}
		if removed {
			result.Deleted++
		}
	}
	return &result, remove.commit()
}

func (c *collectionView) Explain(context.Context, *backends.ExplainParams) (*backends.ExplainResult, error) {
	return nil, errors.New("explained by Store.Explain")
}

func (c *collectionView) Stats(
	context.Context, *backends.CollectionStatsParams,
) (*backends.CollectionStatsResult, error) {
	coll := c.existing()
	if coll == nil {
		return nil, c.noCollection()
	}
	return c.store.stats(coll)
}

func (c *collectionView) noCollection() error {
	return backends.NewError(backends.ErrorCodeCollectionDoesNotExist, fmt.Errorf("no collection %s.%s", c.database, c.name))
}

// stats returns the number of documents, and estimated sizes on disk.
func (s *Store) stats(coll *collection) (*backends.CollectionStatsResult, error) {
	var result backends.CollectionStatsResult
	count, err := s.countKeys(coll.prefix)
	if err != nil {
		return nil, err
	}
	result.CountDocuments = count
	size := func(prefix []byte) (int64, error) {
		bytes, err := s.db.EstimateDiskUsage(prefix, prefixEnd(prefix))
		return int64(bytes), err
	}
	if result.SizeCollection, err = size(coll.prefix); err != nil {
		return nil, err
	}
	for _, i := range append([]*index{coll.idIndex}, *coll.indexes.Load()...) {
		bytes, err := size(i.prefix)
		if err != nil {
			return nil, err
		}
		result.SizeIndexes += bytes
		result.IndexSizes = append(result.IndexSizes, backends.IndexSize{Name: i.Name, Size: bytes})
	}
	result.SizeTotal = result.SizeCollection + result.SizeIndexes
	return &result, nil
}

func (s *Store) countKeys(prefix []byte) (int64, error) {
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return 0, err
	}
	var count int64
	for iter.First(); iter.Valid(); iter.Next() {
		count++
	}
	return count, iter.Close()
}

func (c *collectionView) Compact(context.Context, *backends.CompactParams) (*backends.CompactResult, error) {
	coll := c.existing()
	if coll == nil {
		return nil, c.noCollection()
	}
	// Pebble compacts by itself.
	return new(backends.CompactResult), nil
}

func (c *collectionView) ListIndexes(
	context.Context, *backends.ListIndexesParams,
) (*backends.ListIndexesResult, error) {
	coll := c.existing()
	if coll == nil {
		return nil, c.noCollection()
	}
	var result backends.ListIndexesResult
	for _, i := range append([]*index{coll.idIndex}, *coll.indexes.Load()...) {
		info := backends.IndexInfo{Name: i.Name, Unique: i.Unique || i.isID}
		for _, field := range i.Fields {
			info.Key = append(info.Key, backends.IndexKeyPair{Field: field.Field, Descending: field.Descending})
		}
		result.Indexes = append(result.Indexes, info)
	}
	sort.Slice(result.Indexes, func(i, j int) bool { return result.Indexes[i].Name < result.Indexes[j].Name })
	return &result, nil
}

func (c *collectionView) CreateIndexes(
	_ context.Context, params *backends.CreateIndexesParams,
) (*backends.CreateIndexesResult, error) {
	coll, _, err := c.store.catalog.create(c.database, c.name)
	if err != nil {
		return nil, err
	}
	for _, info := range params.Indexes {
		if info.Name == backends.DefaultIndexName || coll.hasIndex(info.Name) {
			continue
		}
		created := &index{Name: info.Name, Unique: info.Unique}
		for _, key := range info.Key {
			created.Fields = append(created.Fields, indexField{Field: key.Field, Descending: key.Descending})
		}
		if created.Number, err = c.store.catalog.newNumber(); err != nil {
			return nil, err
		}
		if err := c.store.buildIndex(coll, created.prepare(coll.number)); err != nil {
			return nil, insertError(err)
		}
	}
	return new(backends.CreateIndexesResult), nil
}

func (coll *collection) hasIndex(name string) bool {
	return slices.ContainsFunc(*coll.indexes.Load(), func(i *index) bool { return i.Name == name })
}

func (c *collectionView) DropIndexes(
	_ context.Context, params *backends.DropIndexesParams,
) (*backends.DropIndexesResult, error) {
	coll := c.existing()
	if coll == nil {
		return nil, c.noCollection()
	}
	batch := c.store.db.NewBatch()
	defer batch.Close()
	left := []*index{}
	for _, i := range *coll.indexes.Load() {
		if !slices.Contains(params.Indexes, i.Name) {
			left = append(left, i)
			continue
		}
		if err := batch.DeleteRange(i.prefix, prefixEnd(i.prefix), nil); err != nil {
			return nil, err
		}
	}
	if err := c.store.catalog.setIndexes(batch, coll, left); err != nil {
		return nil, err
	}
	coll.view.Lock()
	defer coll.view.Unlock()
	if err := batch.Commit(pebble.NoSync); err != nil {
		return nil, err
	}
	coll.indexes.Store(&left)
	return new(backends.DropIndexesResult), nil
}

// newNumber returns a number for an index.
func (c *catalog) newNumber() (uint32, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	batch := c.db.NewBatch()
	defer batch.Close()
	number := c.takeNumber(batch)
	return number, batch.Commit(pebble.NoSync)
}

// LockCollection lets one command at a time write to a collection. It creates a missing collection.
func (s *Store) LockCollection(database, name string) (unlock func(), err error) {
	coll, _, err := s.catalog.create(database, name)
	if err != nil {
		return nil, err
	}
	coll.write.Lock()
	return coll.write.Unlock, nil
}

// Explain returns the plan of a query in MongoDB's form.
func (s *Store) Explain(database, name string, query *Query) (*types.Document, error) {
	coll := s.catalog.get(database, name)
	if coll == nil {
		return types.NewDocument("stage", "EOF")
	}
	result, err := s.open(coll, query)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	stage, err := result.plan.explain()
	if err != nil || result.plan.sorted {
		return stage, err
	}
	pattern := types.MakeDocument(len(result.plan.sort))
	for _, field := range result.plan.sort {
		pattern.Set(field.field, direction(field.descending))
	}
	return types.NewDocument("stage", "SORT", "sortPattern", pattern, "inputStage", stage)
}

func direction(descending bool) int32 {
	if descending {
		return -1
	}
	return 1
}

func (p *plan) explain() (*types.Document, error) {
	switch {
	case p.isEmpty:
		return types.NewDocument("stage", "EOF")
	case p.branches != nil:
		inputs := types.MakeArray(len(p.branches))
		for _, branch := range p.branches {
			input, err := branch.explain()
			if err != nil {
				return nil, err
			}
			inputs.Append(input)
		}
		union, err := types.NewDocument("stage", "OR", "inputStages", inputs)
		if err != nil {
			return nil, err
		}
		return types.NewDocument("stage", "FETCH", "inputStage", union)
	case p.index == nil:
		return types.NewDocument("stage", "COLLSCAN", "direction", "forward")
	case p.isLookup():
		return types.NewDocument("stage", "IDHACK", "indexName", p.index.Name)
	}
	pattern := types.MakeDocument(len(p.index.Fields))
	for _, field := range p.index.Fields {
		pattern.Set(field.Field, direction(field.Descending))
	}
	scan, err := types.NewDocument(
		"stage", "IXSCAN",
		"keyPattern", pattern,
		"indexName", p.index.Name,
		"isMultiKey", p.index.hasArrays(),
		"boundFields", int32(p.fields),
		"ranges", int32(len(p.ranges)),
		"merged", p.merged,
		"decidedByKeys", p.exact,
	)
	if err != nil {
		return nil, err
	}
	return types.NewDocument("stage", "FETCH", "inputStage", scan)
}
