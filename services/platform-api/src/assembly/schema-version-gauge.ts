import { Gauge } from '@fleet/service-kit';
import type { SchemaVersion } from '../store/migrate.ts';
import { migrations } from './migrations.ts';

/** Creates the metric by which operators see whether the database has the migrations of this release. */
export function createSchemaVersionGauge(read: () => SchemaVersion | undefined): Gauge<'state'> {
  const gauge = new Gauge({
    name: 'platform_schema_version',
    help: 'number of the newest migration: applied to the database (0: unknown), or required by this release',
    labelNames: ['state'],
    registers: [],
    collect: () => {
      const required = Math.max(...migrations.map(({ id }) => id));
      gauge.set({ state: 'required' }, required);
      gauge.set({ state: 'applied' }, read()?.applied ?? 0);
    },
  });
  return gauge;
}
