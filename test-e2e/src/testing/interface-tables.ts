import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** A row of the Platform API tables in interface.md. */
export interface InterfaceRow {
  readonly method: string;
  /** Path as written, without the query: `/api/drivers/:id`. */
  readonly path: string;
  /** Parameters and fields that the row names. */
  readonly names: readonly string[];
}

const file = resolve('../shared/interface.md');

/**
 * Returns the rows of the Platform API tables in interface.md. Logs and returns none if the shared documents are
 * absent.
 */
export function readInterfaceRows(): InterfaceRow[] {
  if (!existsSync(file)) {
    console.log('shared documents are absent: comparison of the rows with interface.md skipped');
    return [];
  }
  const text = readFileSync(file, 'utf8');
  const platform = text.slice(text.indexOf('### Platform API: conventions'), text.indexOf('### Pagination'));
  const video = platform.slice(platform.indexOf('#### Video service'), platform.indexOf('#### Sharing and realtime'));
  // The table of the video service is not part of the Platform API.
  return parseRows(platform.replace(video, ''));
}

/**
 * Returns the rows of the video service, whose paths are below its host. Logs and returns null if the shared documents
 * are absent.
 */
export function readVideoRows(): InterfaceRow[] | null {
  if (!existsSync(file)) {
    console.log('shared documents are absent: comparison of the video rows with interface.md skipped');
    return null;
  }
  const text = readFileSync(file, 'utf8');
  const video = text.slice(text.indexOf('#### Video service'), text.indexOf('#### Sharing and realtime'));
  return parseRows(video.replaceAll('{video_url}', ''));
}

function parseRows(tables: string): InterfaceRow[] {
  const rows = [...tables.matchAll(/^\| (GET|POST|PUT|DELETE) `([^`]+)` \|[^|]*(?:\|([^|\n]*))?/gm)];
  return rows.map(([, method = '', address = '', more = '']) => {
    const [path = '', query = ''] = address.replace('{partner_command_url}', '').split('?');
    // Brackets contain values, and "response has" starts the description of the response.
    const requestNames = more.replaceAll(/\([^)]*\)/g, '').replace(/response has.*/, '');
    const named = [...requestNames.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    const inQuery = [...new URLSearchParams(query).keys()];
    return { method, path, names: [...new Set([...inQuery, ...named])] };
  });
}

/** Returns a pattern that matches the path of a request to a row. */
export const toCallPattern = ({ path }: InterfaceRow): RegExp =>
  new RegExp(`^${path.replaceAll(/:\w+/g, '[^/?]+')}(\\?|$)`);
