package handler

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/FerretDB/wire"
	"github.com/FerretDB/wire/wirebson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"github.com/FerretDB/FerretDB/internal/backends"
	"github.com/FerretDB/FerretDB/internal/bson"
	"github.com/FerretDB/FerretDB/internal/clientconn/conninfo"
	"github.com/FerretDB/FerretDB/internal/clientconn/cursor"
	"github.com/FerretDB/FerretDB/internal/handler/common"
	"github.com/FerretDB/FerretDB/internal/handler/common/aggregations"
	"github.com/FerretDB/FerretDB/internal/handler/handlererrors"
	"github.com/FerretDB/FerretDB/internal/store"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/iterator"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// maxReplyBytes is where a batch of documents ends, as in MongoDB.
const maxReplyBytes = 16 << 20

// storeCommands are the commands that use features of the store beyond FerretDB's backends: indexes, and one write after
// another in each collection.
type storeCommands struct {
	*Handler
	store *store.Store
	// schema is held for reading by every write, and for writing by commands that change collections or indexes.
	schema sync.RWMutex
}

type commandHandler = func(context.Context, *wire.OpMsg) (*wire.OpMsg, error)

// useStore replaces the commands that the store implements, and locks the others that write.
func (h *Handler) useStore() {
	backend, ok := h.b.(*store.Backend)
	if !ok {
		return
	}
	s := &storeCommands{Handler: h, store: backend.Store}
	for name, handler := range map[string]commandHandler{
		"find": s.find, "count": s.count, "aggregate": s.aggregate, "explain": s.explain, "getMore": s.getMore,
	} {
		h.commands[name].Handler = handler
	}
	for name, handler := range map[string]commandHandler{
		"insert": h.MsgInsert, "update": s.update, "delete": h.MsgDelete,
		"findAndModify": s.findAndModify, "findandmodify": s.findAndModify,
	} {
		h.commands[name].Handler = s.writing(handler)
	}
	for _, name := range []string{
		"collMod", "compact", "create", "createIndexes", "drop", "dropDatabase", "dropIndexes", "renameCollection",
	} {
		h.commands[name].Handler = s.changingSchema(h.commands[name].Handler)
	}
	for _, command := range h.commands {
		command.Handler = withoutNaN(command.Handler)
	}
}

// writing runs a command that writes to one collection alone, and replies when the writes survive the process.
func (s *storeCommands) writing(handler commandHandler) commandHandler {
	return func(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
		reply, err := s.writeAlone(ctx, msg, handler)
		if flushError := s.store.Flush(); flushError != nil {
			return nil, flushError
		}
		return reply, err
	}
}

func (s *storeCommands) writeAlone(ctx context.Context, msg *wire.OpMsg, handler commandHandler) (*wire.OpMsg, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	if database, name, ok := namespaceOf(msg); ok && s.isValidName(database, name) {
		unlock, err := s.store.LockCollection(database, name)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	return handler(ctx, msg)
}

// isValidName reports whether FerretDB accepts the names; the command itself returns the error for names that it refuses.
func (s *storeCommands) isValidName(database, name string) bool {
	db, err := s.b.Database(database)
	if err != nil {
		return false
	}
	_, err = db.Collection(name)
	return err == nil
}

func (s *storeCommands) changingSchema(handler commandHandler) commandHandler {
	return func(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
		reply, err := s.changeSchema(ctx, msg, handler)
		if flushError := s.store.Flush(); flushError != nil {
			return nil, flushError
		}
		return reply, err
	}
}

// changeSchema holds the lock until the command has ended, even if it panics: FerretDB then closes the connection.
func (s *storeCommands) changeSchema(ctx context.Context, msg *wire.OpMsg, handler commandHandler) (*wire.OpMsg, error) {
	s.schema.Lock()
	defer s.schema.Unlock()
	return handler(ctx, msg)
}

// namespaceOf returns the database and the collection of a command: $db, and the value of the command's own field.
func namespaceOf(msg *wire.OpMsg) (database, name string, ok bool) {
	document := bsoncore.Document(msg.RawSection0())
	first, err := document.IndexErr(0)
	if err != nil {
		return "", "", false
	}
	name, hasName := first.Value().StringValueOK()
	database, hasDatabase := document.Lookup("$db").StringValueOK()
	return database, name, hasName && hasDatabase
}

// withoutNaN refuses requests with NaN, which FerretDB's comparisons do not support.
func withoutNaN(handler commandHandler) commandHandler {
	return func(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
		for _, section := range msg.Sections() {
			for _, document := range section.Documents() {
				if hasNaN(bsoncore.Document(document)) {
					return nil, handlererrors.NewCommandErrorMsg(handlererrors.ErrBadValue, "NaN is not supported")
				}
			}
		}
		return handler(ctx, msg)
	}
}

func hasNaN(document bsoncore.Document) bool {
	found := false
	store.WalkFields(document, func(value bsoncore.Value) bool {
		switch value.Type {
		case bsontype.Double:
			found = math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(value.Data)))
		case bsontype.EmbeddedDocument, bsontype.Array:
			found = hasNaN(value.Data)
		}
		return !found
	})
	return found
}

// checkNamespace returns the error of FerretDB's own commands for names that it refuses.
func (s *storeCommands) checkNamespace(database, collection, command string) error {
	db, err := s.b.Database(database)
	if err == nil {
		_, err = db.Collection(collection)
	}
	switch {
	case err == nil:
		return nil
	case backends.ErrorCodeIs(err, backends.ErrorCodeDatabaseNameIsInvalid):
		text := fmt.Sprintf("Invalid namespace specified '%s.%s'", database, collection)
		return handlererrors.NewCommandErrorMsgWithArgument(handlererrors.ErrInvalidNamespace, text, command)
	case backends.ErrorCodeIs(err, backends.ErrorCodeCollectionNameIsInvalid):
		text := fmt.Sprintf("Invalid collection name: %s", collection)
		return handlererrors.NewCommandErrorMsgWithArgument(handlererrors.ErrInvalidNamespace, text, command)
	}
	return err
}

// findQuery returns the query of a find command. FerretDB's parameters leave the hint out.
func findQuery(params *common.FindParams, document *types.Document) (*store.Query, error) {
	query := &store.Query{Filter: params.Filter, Skip: params.Skip, Limit: params.Limit}
	sort, err := common.ValidateSortDocument(params.Sort)
	if err != nil {
		return nil, sortError(err, "find")
	}
	query.Sort = sort
	hint, _ := document.Get("hint")
	useHint(query, hint)
	if direction, err := sort.Get("$natural"); err == nil {
		if direction != int64(1) {
			return nil, handlererrors.NewCommandErrorMsgWithArgument(
				handlererrors.ErrNotImplemented, "a descending $natural sort is not supported", "find",
			)
		}
		query.Plain, query.Sort = true, nil
	}
	return query, nil
}

// useHint makes a query read the index that a hint names, or the collection in its natural order.
func useHint(query *store.Query, hint any) {
	switch hint := hint.(type) {
	case *types.Document:
		if hint.Has("$natural") {
			query.Plain = true
			return
		}
		query.Hint = hint
	case string:
		query.Hint = hint
	}
}

func sortError(err error, command string) error {
	var pathErr *types.PathError
	if errors.As(err, &pathErr) && pathErr.Code() == types.ErrPathElementEmpty {
		return handlererrors.NewCommandErrorMsgWithArgument(
			handlererrors.ErrPathContainsEmptyElement, "Empty field names in path are not allowed", command,
		)
	}
	return err
}

func (s *storeCommands) find(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	params, err := common.GetFindParams(document, s.L)
	if err != nil {
		return nil, err
	}
	if err := s.checkNamespace(params.DB, params.Collection, "find"); err != nil {
		return nil, err
	}
	if params.Tailable {
		return nil, handlererrors.NewCommandErrorMsgWithArgument(
			handlererrors.ErrBadValue, "tailable cursor requested on non capped collection", "tailable",
		)
	}
	query, err := findQuery(params, document)
	if err != nil {
		return nil, err
	}
	result, err := s.store.Find(params.DB, params.Collection, query)
	if err != nil {
		return nil, err
	}
	open, err := newOpenCursor(result, params)
	if err != nil {
		return nil, err
	}
	batch, isDone, err := open.batch(int(params.BatchSize))
	if err != nil || isDone || params.SingleBatch {
		open.Close()
	}
	if err != nil {
		return nil, err
	}
	var cursorID int64
	if !isDone && !params.SingleBatch {
		cursorID = s.cursors.NewCursor(ctx, open, &cursor.NewParams{
			Data: open, DB: params.DB, Collection: params.Collection, Username: conninfo.Get(ctx).Username(),
			Type: cursor.Normal,
		}).ID
	}
	return cursorReply("firstBatch", batch, cursorID, params.DB+"."+params.Collection)
}

// getMore returns the next documents of a find. FerretDB handles the cursors of other commands.
func (s *storeCommands) getMore(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	id, _ := document.Get("getMore")
	cursorID, ok := id.(int64)
	if !ok {
		return s.MsgGetMore(ctx, msg)
	}
	found := s.cursors.Get(cursorID)
	if found == nil {
		return s.MsgGetMore(ctx, msg)
	}
	open, ok := found.Data.(*openCursor)
	database, _ := document.Get("$db")
	collection, _ := document.Get("collection")
	if !ok || database != found.DB || collection != found.Collection {
		return s.MsgGetMore(ctx, msg)
	}
	batchSize := int64(math.MaxInt32)
	if size, _ := document.Get("batchSize"); size != nil {
		if number, ok := wholeNumber(size); ok && number > 0 {
			batchSize = number
		}
	}
	batch, isDone, err := open.batch(int(batchSize))
	if err != nil || isDone {
		found.Close()
		cursorID = 0
	}
	if err != nil {
		return nil, err
	}
	return cursorReply("nextBatch", batch, cursorID, found.DB+"."+found.Collection)
}

func cursorReply(field string, batch *wirebson.Array, cursorID int64, namespace string) (*wire.OpMsg, error) {
	found, err := wirebson.NewDocument(field, batch, "id", cursorID, "ns", namespace)
	if err != nil {
		return nil, err
	}
	reply, err := wirebson.NewDocument("cursor", found, "ok", float64(1))
	if err != nil {
		return nil, err
	}
	return wire.NewOpMsg(reply)
}

// openCursor returns the documents of a find in batches. If possible, documents go from the store to the client unchanged.
type openCursor struct {
	mutex  sync.Mutex
	next   func() (wirebson.RawDocument, error) // nil at the end
	close  func()
	peeked wirebson.RawDocument
}

func newOpenCursor(result *store.Result, params *common.FindParams) (*openCursor, error) {
	if params.Projection.Len() == 0 {
		return &openCursor{next: rawDocuments(result.Next), close: result.Close}, nil
	}
	if projection, ok := store.NewProjection(params.Projection); ok {
		next := func() ([]byte, error) { return result.NextProjected(projection) }
		return &openCursor{next: rawDocuments(next), close: result.Close}, nil
	}
	closer := iterator.NewMultiCloser(result.Documents())
	projected, err := common.ProjectionIterator(result.Documents(), closer, params.Projection, params.Filter)
	if err != nil {
		closer.Close()
		return nil, err
	}
	return &openCursor{next: encodedDocuments(projected), close: closer.Close}, nil
}

// batch returns the next documents, and whether they are the last.
func (c *openCursor) batch(size int) (batch *wirebson.Array, isDone bool, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	batch = wirebson.MakeArray(min(size, 1000))
	bytes := 0
	for {
		raw := c.peeked
		c.peeked = nil
		if raw == nil {
			if raw, err = c.next(); err != nil || raw == nil {
				return batch, true, err
			}
		}
		if batch.Len() >= size || bytes+len(raw) > maxReplyBytes && batch.Len() > 0 {
			c.peeked = raw
			return batch, false, nil
		}
		if err := batch.Add(raw); err != nil {
			return nil, false, err
		}
		bytes += len(raw)
	}
}

// Next makes the cursor an iterator, as FerretDB's registry of cursors keeps them. Only batch reads documents.
func (c *openCursor) Next() (struct{}, *types.Document, error) {
	return struct{}{}, nil, errors.New("documents of this cursor are read in batches")
}

func (c *openCursor) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.close()
}

func rawDocuments(next func() ([]byte, error)) func() (wirebson.RawDocument, error) {
	return func() (wirebson.RawDocument, error) { return next() }
}

func encodedDocuments(documents types.DocumentsIterator) func() (wirebson.RawDocument, error) {
	return func() (wirebson.RawDocument, error) {
		_, document, err := documents.Next()
		if errors.Is(err, iterator.ErrIteratorDone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		converted, err := bson.FromDocument(document)
		if err != nil {
			return nil, err
		}
		return converted.Encode()
	}
}

func (s *storeCommands) count(_ context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	params, err := common.GetCountParams(document, s.L)
	if err != nil {
		return nil, err
	}
	if err := s.checkNamespace(params.DB, params.Collection, "count"); err != nil {
		return nil, err
	}
	count, err := s.store.Count(
		params.DB, params.Collection, &store.Query{Filter: params.Filter, Skip: params.Skip, Limit: params.Limit},
	)
	if err != nil {
		return nil, err
	}
	return wire.NewOpMsg(wirebson.MustDocument("n", int32(count), "ok", float64(1)))
}

// aggregate counts if the pipeline is the one that drivers send for countDocuments. FerretDB executes all others.
func (s *storeCommands) aggregate(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	query, ok := countQuery(document)
	if !ok {
		return s.MsgAggregate(ctx, msg)
	}
	database, _ := document.Get("$db")
	collection, _ := document.Get("aggregate")
	count, err := s.store.Count(database.(string), collection.(string), query)
	if err != nil {
		return nil, err
	}
	batch := wirebson.MakeArray(1)
	if count > 0 {
		must.NoError(batch.Add(wirebson.MustDocument("_id", int32(1), "n", int32(count))))
	}
	return cursorReply("firstBatch", batch, 0, database.(string)+"."+collection.(string))
}

// countQuery returns the query of a pipeline $match, $skip, $limit, $group: { _id: 1, n: { $sum: 1 } }.
func countQuery(document *types.Document) (*store.Query, bool) {
	database, _ := document.Get("$db")
	collection, _ := document.Get("aggregate")
	if _, ok := database.(string); !ok {
		return nil, false
	}
	if _, ok := collection.(string); !ok {
		return nil, false
	}
	list, _ := document.Get("pipeline")
	pipeline, ok := list.(*types.Array)
	if !ok || pipeline.Len() == 0 {
		return nil, false
	}
	query := &store.Query{}
	hint, _ := document.Get("hint")
	useHint(query, hint)
	order := []string{"$match", "$skip", "$limit", "$group"}
	for i := range pipeline.Len() {
		stage, ok := must.NotFail(pipeline.Get(i)).(*types.Document)
		if !ok || stage.Len() != 1 {
			return nil, false
		}
		name, value := stage.Keys()[0], stage.Values()[0]
		for len(order) > 0 && order[0] != name {
			order = order[1:]
		}
		if len(order) == 0 || !readCountStage(query, name, value) {
			return nil, false
		}
		order = order[1:]
	}
	last := must.NotFail(pipeline.Get(pipeline.Len() - 1)).(*types.Document)
	return query, last.Has("$group")
}

func readCountStage(query *store.Query, name string, value any) bool {
	switch name {
	case "$match":
		filter, ok := value.(*types.Document)
		query.Filter = filter
		return ok
	case "$skip", "$limit":
		number, ok := wholeNumber(value)
		if name == "$skip" {
			query.Skip = number
			return ok && number >= 0
		}
		query.Limit = number
		return ok && number > 0
	}
	group, ok := value.(*types.Document)
	if !ok || group.Len() != 2 {
		return false
	}
	id, _ := group.Get("_id")
	sum, _ := group.Get("n")
	accumulator, ok := sum.(*types.Document)
	if !ok || accumulator.Len() != 1 {
		return false
	}
	one, _ := accumulator.Get("$sum")
	idNumber, _ := wholeNumber(id)
	oneNumber, _ := wholeNumber(one)
	return idNumber == 1 && oneNumber == 1
}

func wholeNumber(value any) (int64, bool) {
	switch value := value.(type) {
	case int32:
		return int64(value), true
	case int64:
		return value, true
	case float64:
		return int64(value), value == math.Trunc(value)
	}
	return 0, false
}

// update applies every update of the command. FerretDB's own code changes the documents.
func (s *storeCommands) update(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	params, err := common.GetUpdateParams(document, s.L)
	if err != nil {
		return nil, err
	}
	if err := s.checkNamespace(params.DB, params.Collection, "update"); err != nil {
		return nil, err
	}
	collection, err := s.collection(params.DB, params.Collection)
	if err != nil {
		return nil, err
	}
	isOrdered := true
	if ordered, _ := document.Get("ordered"); ordered == false {
		isOrdered = false
	}
	var matched, modified int32
	upserted, writeErrors := types.MakeArray(0), types.MakeArray(0)
	for i := range params.Updates {
		result, err := s.updateOne(ctx, collection, params, &params.Updates[i])
		if err != nil {
			writeError, isWriteError := asWriteError(i, err, params.DB, params.Collection)
			if !isWriteError {
				return nil, handleUpdateError(params.DB, params.Collection, "update", err)
			}
			writeErrors.Append(WriteErrorDocument(writeError))
			if isOrdered {
				break
			}
			continue
		}
		matched += result.Matched.Count
		modified += result.Modified.Count
		if result.Upserted.Doc != nil {
			id := must.NotFail(result.Upserted.Doc.Get("_id"))
			upserted.Append(must.NotFail(types.NewDocument("index", int32(i), "_id", id)))
			matched++ // as MongoDB counts
		}
	}
	reply := must.NotFail(types.NewDocument("n", matched))
	if upserted.Len() > 0 {
		reply.Set("upserted", upserted)
	}
	reply.Set("nModified", modified)
	if writeErrors.Len() > 0 {
		reply.Set("writeErrors", writeErrors)
	}
	reply.Set("ok", float64(1))
	return documentOpMsg(reply)
}

// asWriteError returns the entry in writeErrors of an update that a duplicate key, or FerretDB's rules, refused.
func asWriteError(position int, err error, database, collection string) (*mongo.WriteError, bool) {
	err = handleUpdateError(database, collection, "update", err)
	var refused *handlererrors.WriteErrors
	if !errors.As(err, &refused) {
		return nil, false
	}
	list, _ := refused.Document().Get("writeErrors").(*wirebson.Array)
	if list == nil || list.Len() == 0 {
		return nil, false
	}
	first, _ := list.Get(0).(*wirebson.Document)
	if first == nil {
		return nil, false
	}
	code, _ := first.Get("code").(int32)
	text, _ := first.Get("errmsg").(string)
	return &mongo.WriteError{Index: position, Code: int(code), Message: text}, true
}

func (s *storeCommands) collection(database, name string) (backends.Collection, error) {
	db, err := s.b.Database(database)
	if err != nil {
		return nil, err
	}
	return db.Collection(name)
}

func (s *storeCommands) updateOne(
	ctx context.Context, collection backends.Collection, params *common.UpdateParams, update *common.Update,
) (*common.UpdateResult, error) {
	query := &store.Query{Filter: update.Filter}
	if !update.Multi {
		query.Limit = 1
	}
	result, err := s.store.Find(params.DB, params.Collection, query)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	return common.UpdateDocument(ctx, collection, "update", result.Documents(), update)
}

func (s *storeCommands) findAndModify(ctx context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	params, err := common.GetFindAndModifyParams(document, s.L)
	if err != nil {
		return nil, err
	}
	if params.Update != nil {
		if err := common.ValidateUpdateOperators(document.Command(), params.Update); err != nil {
			return nil, err
		}
	}
	if err := s.checkNamespace(params.DB, params.Collection, "findAndModify"); err != nil {
		return nil, err
	}
	sort, err := common.ValidateSortDocument(params.Sort)
	if err != nil {
		return nil, sortError(err, "findAndModify")
	}
	query := &store.Query{Filter: params.Query, Sort: sort, Limit: 1}
	result, err := s.store.Find(params.DB, params.Collection, query)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	collection, err := s.collection(params.DB, params.Collection)
	if err != nil {
		return nil, err
	}
	if params.Remove {
		return s.removeFound(ctx, collection, result)
	}
	update := &common.Update{
		Filter: params.Query, Update: params.Update, Upsert: params.Upsert, HasUpdateOperators: params.HasUpdateOperators,
	}
	updated, err := common.UpdateDocument(ctx, collection, "findAndModify", result.Documents(), update)
	if err != nil {
		return nil, handleUpdateError(params.DB, params.Collection, "findAndModify", err)
	}
	lastError := must.NotFail(types.NewDocument("n", int32(0), "updatedExisting", false))
	var value any = types.Null
	switch {
	case updated.Upserted.Doc != nil:
		lastError.Set("n", int32(1))
		lastError.Set("upserted", must.NotFail(updated.Upserted.Doc.Get("_id")))
		if params.ReturnNewDocument {
			value = updated.Upserted.Doc
		}
	case updated.Matched.Count > 0:
		lastError.Set("n", int32(1))
		lastError.Set("updatedExisting", true)
		value = updated.Matched.Doc
		if params.ReturnNewDocument && updated.Modified.Doc != nil {
			value = updated.Modified.Doc
		}
	}
	return findAndModifyReply(lastError, value)
}

func (s *storeCommands) removeFound(
	ctx context.Context, collection backends.Collection, result *store.Result,
) (*wire.OpMsg, error) {
	document, err := result.Document()
	if err != nil {
		return nil, err
	}
	lastError := must.NotFail(types.NewDocument("n", int32(0)))
	if document == nil {
		return findAndModifyReply(lastError, types.Null)
	}
	remove := &backends.DeleteAllParams{IDs: []any{must.NotFail(document.Get("_id"))}}
	if _, err := collection.DeleteAll(ctx, remove); err != nil {
		return nil, err
	}
	lastError.Set("n", int32(1))
	return findAndModifyReply(lastError, document)
}

func findAndModifyReply(lastError *types.Document, value any) (*wire.OpMsg, error) {
	return documentOpMsg(must.NotFail(types.NewDocument("lastErrorObject", lastError, "value", value, "ok", float64(1))))
}

// explain returns the plan of a find, count, aggregate, distinct, delete, update or findAndModify command.
func (s *storeCommands) explain(_ context.Context, msg *wire.OpMsg) (*wire.OpMsg, error) {
	document, err := opMsgDocument(msg)
	if err != nil {
		return nil, err
	}
	database, err := common.GetRequiredParam[string](document, "$db")
	if err != nil {
		return nil, err
	}
	command, err := common.GetRequiredParam[*types.Document](document, "explain")
	if err != nil {
		return nil, err
	}
	collection, err := common.GetRequiredParam[string](command, command.Command())
	if err != nil {
		return nil, err
	}
	query, err := explainedQuery(command)
	if err != nil {
		return nil, err
	}
	plan, err := s.store.Explain(database, collection, query)
	if err != nil {
		return nil, err
	}
	planner := must.NotFail(types.NewDocument("namespace", database+"."+collection, "winningPlan", plan))
	return documentOpMsg(must.NotFail(types.NewDocument(
		"explainVersion", "1", "queryPlanner", planner, "command", command, "ok", float64(1),
	)))
}

func explainedQuery(command *types.Document) (*store.Query, error) {
	query := &store.Query{}
	target := command
	for _, list := range []string{"updates", "deletes"} {
		if items, _ := command.Get(list); items != nil {
			if array, ok := items.(*types.Array); ok && array.Len() > 0 {
				target, _ = must.NotFail(array.Get(0)).(*types.Document)
			}
		}
	}
	for _, name := range []string{"filter", "query", "q"} {
		if filter, _ := target.Get(name); filter != nil {
			query.Filter, _ = filter.(*types.Document)
		}
	}
	if limit, _ := target.Get("limit"); limit != nil {
		query.Limit, _ = wholeNumber(limit)
	}
	if skip, _ := target.Get("skip"); skip != nil {
		query.Skip, _ = wholeNumber(skip)
	}
	hint, _ := target.Get("hint")
	useHint(query, hint)
	sort, _ := target.Get("sort")
	order, _ := sort.(*types.Document)
	if pipeline, _ := command.Get("pipeline"); pipeline != nil {
		if stages, ok := pipeline.(*types.Array); ok {
			values, err := iterator.ConsumeValues(stages.Iterator())
			if err != nil {
				return nil, err
			}
			query.Filter, order = aggregations.GetPushdownQuery(values)
		}
	}
	validated, err := common.ValidateSortDocument(order)
	if err != nil {
		return nil, sortError(err, "explain")
	}
	query.Sort = validated
	return query, nil
}
