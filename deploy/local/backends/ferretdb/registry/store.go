package registry

import (
	"strings"

	"github.com/FerretDB/FerretDB/internal/handler"
	"github.com/FerretDB/FerretDB/internal/store"
	"github.com/FerretDB/FerretDB/internal/util/logging"
)

// init registers the handler "store". Its directory is that of the SQLite URL: databases of earlier versions are there.
func init() {
	registry["store"] = func(opts *NewHandlerOpts) (*handler.Handler, CloseBackendFunc, error) {
		dir := strings.TrimSuffix(strings.TrimPrefix(opts.SQLiteURL, "file:"), "/")
		logger := logging.WithName(opts.Logger, "store")
		opened, err := store.Open(dir, logger)
		if err != nil {
			return nil, nil, err
		}
		if err := opened.ImportSQLite(dir, opts.StateProvider); err != nil {
			return nil, opened.Close, err
		}
		created, err := handler.New(&handler.NewOpts{
			Backend:                 store.NewBackend(opened),
			TCPHost:                 opts.TCPHost,
			L:                       logger,
			ConnMetrics:             opts.ConnMetrics,
			StateProvider:           opts.StateProvider,
			EnableNestedPushdown:    true,
			CappedCleanupPercentage: opts.CappedCleanupPercentage,
			BatchSize:               opts.BatchSize,
		})
		if err != nil {
			return nil, opened.Close, err
		}
		return created, opened.Close, nil
	}
}
