import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** A row of the Platform API's tables in interface.md. */
export interface InterfaceRow {
  readonly method: string;
  /** As it is written, without the query: `/api/drivers/:id`. */
  readonly path: string;
  /** Parameters and fields that the row names. */
  readonly names: readonly string[];
}

const file = resolve('../shared/interface.md');

/** Of the video service and of the dashcam, which come later: all of their tables but this row. */
const dashcamRow = '/api/vehicles/:vehicleId/list-dashcam-media';

/** The rows of the Platform API's tables in interface.md; none where the shared documents are absent, which is said. */
export function readInterfaceRows(): InterfaceRow[] {
  if (!existsSync(file)) {
    console.log('shared documents are absent: the rows are not compared with interface.md, skipped');
    return [];
  }
  const text = readFileSync(file, 'utf8');
  const platform = text.slice(text.indexOf('### Platform API: conventions'), text.indexOf('### Pagination'));
  const later = platform.slice(platform.indexOf('#### Dashcam'), platform.indexOf('#### Sharing and realtime'));
  const own = platform.replace(later, '');
  return [...parseRows(later).filter(({ path }) => path === dashcamRow), ...parseRows(own)];
}

function parseRows(tables: string): InterfaceRow[] {
  const rows = [...tables.matchAll(/^\| (GET|POST|PUT|DELETE) `([^`]+)` \|[^|]*(?:\|([^|\n]*))?/gm)];
  return rows.map(([, method = '', address = '', more = '']) => {
    const [path = '', query = ''] = address.replace('{partner_command_url}', '').split('?');
    // What stands in brackets are values, and "response has" tells of the answer.
    const requestNames = more.replaceAll(/\([^)]*\)/g, '').replace(/response has.*/, '');
    const named = [...requestNames.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    const inQuery = [...new URLSearchParams(query).keys()];
    return { method, path, names: [...new Set([...inQuery, ...named])] };
  });
}

/** Matches what a row's path looks like when it is called. */
export const toCallPattern = ({ path }: InterfaceRow): RegExp =>
  new RegExp(`^${path.replaceAll(/:\w+/g, '[^/?]+')}(\\?|$)`);
