// Writes the Grafana board of k8s/components/monitoring from the list of its panels. `--print` prints it instead.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';

const width = 8;
const height = 7;
const columns = 24 / width;

/** Units of Grafana. */
const perSecond = 'ops';
const bytesPerSecond = 'Bps';
const bytes = 'bytes';
const seconds = 's';
const count = 'short';

const rate = (metric, by) => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const total = (metric, by) => `sum by (${by}) (${metric})`;
const quantile = (share, metric) =>
  `histogram_quantile(${share}, sum by (le) (rate(${metric}_bucket[$__rate_interval])))`;

/**
 * Rows of panels: title, unit, and queries with their legends.
 * @type {{ title: string, panels: [string, string, Record<string, string>][] }[]}
 */
const rows = [
  {
    title: 'Health',
    panels: [
      ['Pods that serve their metrics', count, { '{{service}}': 'count by (service) (up{job="fleet"} == 1)' }],
      ['Failed dependencies', count, { '{{service}}: {{check}}': 'service_check_up == 0' }],
      [
        'Processor',
        'percentunit',
        { '{{pod}}': 'sum by (pod) (rate(process_cpu_seconds_total{job="fleet"}[$__rate_interval]))' },
      ],
      ['Memory', bytes, { '{{pod}}': 'sum by (pod) (process_resident_memory_bytes{job="fleet"})' }],
      [
        'Delay of the event loop, 99 %',
        seconds,
        { '{{pod}}': 'max by (pod) (nodejs_eventloop_lag_p99_seconds{job="fleet"})' },
      ],
      ['Open files', count, { '{{pod}}': 'sum by (pod) (process_open_fds{job="fleet"})' }],
    ],
  },
  {
    title: 'HTTP',
    panels: [
      ['Requests', perSecond, { '{{service}}': rate('http_request_duration_seconds_count', 'service') }],
      [
        'Responses 500 to 599',
        perSecond,
        { '{{service}}: {{status}}': rate('http_request_duration_seconds_count{status=~"5.."}', 'service, status') },
      ],
      [
        'Time until the response, 99 %',
        seconds,
        {
          '{{service}}':
            'histogram_quantile(0.99, sum by (service, le) (rate(http_request_duration_seconds_bucket[$__rate_interval])))',
        },
      ],
    ],
  },
  {
    title: 'Terminals',
    panels: [
      ['Sessions', count, { '{{edition}}': total('gateway_sessions', 'edition') }],
      ['Connections by pod', count, { '{{pod}}': total('gateway_connections', 'pod') }],
      ['Closed connections', perSecond, { '{{reason}}': rate('gateway_connections_closed_total', 'reason') }],
      [
        'Frames',
        perSecond,
        { in: rate('gateway_frames_in_total', 'service'), out: rate('gateway_frames_out_total', 'service') },
      ],
      [
        'Dropped frames and messages',
        perSecond,
        {
          'frame: {{kind}}': rate('gateway_frames_dropped_total', 'kind'),
          'message: {{kind}}': rate('gateway_messages_dropped_total', 'kind'),
        },
      ],
      ['Logins', perSecond, { '{{message}}: {{result}}': rate('gateway_logins_total', 'message, result') }],
    ],
  },
  {
    title: 'Location reports',
    panels: [
      [
        'Received and applied',
        perSecond,
        { received: rate('gateway_reports_total', 'job'), applied: rate('telemetry_reports_total', 'job') },
      ],
      ['Batches by result', perSecond, { '{{result}}': rate('gateway_telemetry_batches_total', 'result') }],
      [
        'Time until JetStream has stored a batch',
        seconds,
        { '50 %': quantile(0.5, 'gateway_puback_seconds'), '99 %': quantile(0.99, 'gateway_puback_seconds') },
      ],
      [
        'Time until a report is in the database',
        seconds,
        { '50 %': quantile(0.5, 'telemetry_unit_seconds'), '99 %': quantile(0.99, 'telemetry_unit_seconds') },
      ],
      ['Notifications raised', perSecond, { raised: rate('telemetry_raised_total', 'job') }],
      [
        'Reports that were not applied',
        perSecond,
        { unknown: rate('telemetry_unknown_total', 'job'), invalid: rate('telemetry_faults_total', 'job') },
      ],
    ],
  },
  {
    title: 'Commands',
    panels: [
      ['Pending', count, { '{{pod}}': total('device_api_commands_in_flight', 'pod') }],
      ['By outcome', perSecond, { '{{outcome}}': rate('gateway_commands_total', 'outcome') }],
      [
        'Without a response, by kind',
        perSecond,
        { '{{kind}}': rate('gateway_commands_total{outcome="timedOut"}', 'kind') },
      ],
    ],
  },
  {
    title: 'Video',
    panels: [
      [
        'Streams and viewers',
        count,
        { streams: total('media_streams', 'job'), viewers: total('media_viewers', 'job') },
      ],
      ['Received video', bytesPerSecond, { '{{pod}}': rate('media_received_bytes_total', 'pod') }],
      [
        'Lost packets and dropped frames',
        perSecond,
        {
          lost: rate('media_lost_packets_total', 'job'),
          broken: rate('media_broken_frames_total', 'job'),
          dropped: rate('media_dropped_frames_total', 'job'),
        },
      ],
      ['Transcoders', count, { '{{pod}}': total('media_transcoders', 'pod') }],
      ['Uploads', bytesPerSecond, { '{{pod}}': rate('upload_ftp_bytes_total', 'pod') }],
      ['Free space for clips', bytes, { '{{pod}}': 'min by (pod) (upload_ftp_free_bytes)' }],
    ],
  },
  {
    title: 'Subscribers',
    panels: [
      ['Websockets', count, { '{{kind}}': total('websocket_connections', 'kind') }],
      ['Messages to websockets', perSecond, { '{{type}}': rate('websocket_messages_sent_total', 'type') }],
      ['Webhook attempts', perSecond, { '{{result}}': rate('webhook_attempts_total', 'result') }],
      [
        'Duration of webhook attempts',
        seconds,
        { '50 %': quantile(0.5, 'webhook_attempt_seconds'), '99 %': quantile(0.99, 'webhook_attempt_seconds') },
      ],
      ['Paused webhooks', count, { paused: total('webhook_breakers_open', 'job') }],
      [
        'Messages to users',
        perSecond,
        { '{{channel}}: {{result}}': rate('platform_notification_messages_total', 'channel, result') },
      ],
    ],
  },
];

const datasource = { type: 'prometheus', uid: '${datasource}' };

function toPanel([title, unit, queries], id, gridPos) {
  return {
    id,
    type: 'timeseries',
    title,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10 } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat,
    })),
  };
}

/** Returns the board as Grafana imports it. */
function createBoard() {
  const panels = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    });
    y += 1;
    for (const [index, panel] of row.panels.entries()) {
      const gridPos = {
        x: (index % columns) * width,
        y: y + Math.floor(index / columns) * height,
        w: width,
        h: height,
      };
      panels.push(toPanel(panel, panels.length + 1, gridPos));
    }
    y += Math.ceil(row.panels.length / columns) * height;
  }
  return {
    uid: 'fleet',
    title: 'Fleet platform',
    tags: ['fleet'],
    timezone: 'browser',
    refresh: '30s',
    schemaVersion: 41,
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels,
  };
}

const text = `${JSON.stringify(createBoard(), null, 2)}\n`;
if (process.argv[2] === '--print') process.stdout.write(text);
else writeFileSync(join(root, 'k8s', 'components', 'monitoring', 'board.json'), text);
