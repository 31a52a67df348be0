import type { LocationResponse } from '../last-positions/responses.ts';

/** A history as a file, generated in parts so that it can be streamed. */
export interface HistoryFile {
  readonly contentType: string;
  readonly fileName: string;
  readonly parts: Iterable<string>;
}

/** Vehicle and time window of a file. */
interface FileFrame {
  readonly vehicleNo: string;
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Number of points in one part of a file. */
const chunkSize = 500;

export const gpxFile = (points: readonly LocationResponse[], frame: FileFrame): HistoryFile => ({
  contentType: 'application/gpx+xml',
  fileName: fileNameOf(frame, 'gpx'),
  parts: gpxParts(points, frame),
});

export const csvFile = (points: readonly LocationResponse[], frame: FileFrame): HistoryFile => ({
  contentType: 'text/csv; charset=utf-8; header=present',
  fileName: fileNameOf(frame, 'csv'),
  parts: csvParts(points),
});

/** Returns a file name of the vehicle and the days, with letters, digits and a few other characters only. */
function fileNameOf({ vehicleNo, fromMs, toMs }: FileFrame, ending: string): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(0, 10));
  const vehicle = vehicleNo.replaceAll(/[^A-Za-z0-9-]+/g, '_');
  return `${vehicle}_${from}_${to}.${ending}`;
}

/** Gap between reports that starts a new track segment. */
const segmentGapMs = 600_000;

// GPX 1.1 (topografix.com/GPX/1/1): one track of valid fixes.
function* gpxParts(
  points: readonly LocationResponse[],
  { vehicleNo, name, fromMs, toMs }: FileFrame,
): Generator<string> {
  const title = xml(name === vehicleNo ? vehicleNo : `${vehicleNo} ${name}`);
  const fixes = points.filter(({ gps_valid: isValid }) => isValid);
  yield `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Fleet" xmlns="http://www.topografix.com/GPX/1/1" xmlns:fleet="urn:fleet:gpx:1">
<metadata><name>${title}</name><desc>${iso(fromMs)} - ${iso(toMs)}</desc></metadata>
<trk><name>${title}</name>
`;
  let lastMs: number | null = null;
  for (const part of slices(fixes)) {
    let text = '';
    for (const point of part) {
      if (lastMs === null) text += '<trkseg>\n';
      else if (point.timestamp - lastMs > segmentGapMs) text += '</trkseg>\n<trkseg>\n';
      text += trackPoint(point);
      lastMs = point.timestamp;
    }
    yield text;
  }
  yield `${lastMs === null ? '' : '</trkseg>\n'}</trk>\n</gpx>\n`;
}

function trackPoint(point: LocationResponse): string {
  const elevation = point.altitude === null ? '' : `<ele>${point.altitude}</ele>`;
  const satellites = point.satellites === null ? '' : `<sat>${point.satellites}</sat>`;
  const more = `<fleet:speed_kmh>${point.speed}</fleet:speed_kmh><fleet:course>${point.course}</fleet:course>`;
  return `<trkpt lat="${point.latitude}" lon="${point.longitude}">${elevation}<time>${iso(point.timestamp)}</time>${satellites}<extensions>${more}</extensions></trkpt>\n`;
}

const iso = (ms: number): string => new Date(ms).toISOString();

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Escapes user text for XML 1.0, which allows most control characters in no form. */
const xml = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, ' ').replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);

const columns = [
  'time',
  'timestamp',
  'server_timestamp',
  'imei',
  'vehicle_id',
  'driver_id',
  'latitude',
  'longitude',
  'altitude',
  'speed',
  'course',
  'gps_valid',
  'satellites',
  'signal',
  'ignition',
  'odometer_km',
  'fuel_l',
  'battery_percent',
  'external_voltage',
  'state',
  'source',
  'backfilled',
  'alarms',
] as const;

// RFC 4180: a header, and lines that end in CR LF.
function* csvParts(points: readonly LocationResponse[]): Generator<string> {
  yield `${columns.join(',')}\r\n`;
  for (const part of slices(points)) yield part.map(csvLine).join('');
}

function csvLine(point: LocationResponse): string {
  const values = columns.map((column) => {
    if (column === 'time') return iso(point.timestamp);
    return column === 'alarms' ? point.alarms.join(' ') : point[column];
  });
  return `${values.map(csvCell).join(',')}\r\n`;
}

/** Formats a CSV cell. Text that a spreadsheet would take for a formula gets a leading apostrophe. */
export function csvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function* slices<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += chunkSize) yield items.slice(at, at + chunkSize);
}
