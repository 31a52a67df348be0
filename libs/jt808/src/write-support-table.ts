import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatSupportTable } from './support-table.ts';

writeFileSync(resolve(import.meta.dirname, '../../../docs/protocol-support.md'), formatSupportTable());
