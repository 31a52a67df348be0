// `npm run bench`: compares the gateway, the media service and the whole command path with peers and floors,
// alternating in one run on one machine. Writes docs/benchmarks.md. BENCH_TOOLS_DIR names the folder with the load tools
// and peers (docs/benchmarks.md); they need Go, and Java with Maven for one of the peers. Further settings: ROUNDS
// (default 2), ONLY (names of servers), WORKLOADS (a regular expression).
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreeOffset, planPorts } from '../local/dist/ports.js';
import { createProgress } from '../local/dist/progress.js';
import { startTestBackends } from '../local/dist/test-backends.js';
import { machine } from './machine.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tools = process.env.BENCH_TOOLS_DIR;
const work = join(root, '.cache', 'bench');
const target = join(root, 'docs', 'benchmarks.md');
const marker = '<!-- measured: everything below is written by npm run bench -->';

if (tools === undefined || !existsSync(join(tools, 'run-peers.sh'))) {
  const reason = tools === undefined ? 'BENCH_TOOLS_DIR is not set' : `BENCH_TOOLS_DIR has no run-peers.sh: ${tools}`;
  console.error(
    `${reason}. Set it to the folder with the load tools and peers that docs/benchmarks.md describes, or measure only this product, for example with npm run bench -- events.`,
  );
  process.exit(1);
}

// The tools are built in a separate folder, because their own may be read-only.
cpSync(tools, work, { recursive: true, force: true });
spawnSync('chmod', ['-R', 'u+w', work], { stdio: 'inherit' });

const backends = await startTestBackends(createProgress((text) => process.stdout.write(text)));
const offset = await findFreeOffset();
const ports = planPorts(offset);
const { NATS_URL, REDIS_URL, MONGODB_URL } = backends.env;
const service = (name) => join(root, 'services', name, 'dist', 'main.js');
const common = `NATS_URL=${NATS_URL} REDIS_URL=${REDIS_URL} MONGODB_URL=${MONGODB_URL} LOG_LEVEL=warn`;
const gatewayPort = 7690;
const storedFloorPort = 7691;
const [mediaPort, historyPort, mediaHttpPort, talkPort] = [7693, 7694, 7695, 7698];

const rows808 = [
  `floor-node-stored|${storedFloorPort}|env -C ${join(root, 'libs/bus')} NATS_URL=${NATS_URL} node ${join(work, 'floor808-stored-node.mjs')} ${storedFloorPort}`,
  `fleet-gateway|${gatewayPort}|env ${common} ADMIN_PORT=7692 JT808_PORT=${gatewayPort} GATEWAY_AUTH_SECRET=only-for-measurements-0123456789 node ${service('jt808-gateway')}`,
  `fleet-all|${ports.jt808}|node ${join(root, 'deploy/bench/serve.mjs')} ${offset}|GET|http://127.0.0.1:${ports.proxy}/api/v1/wakeup?imei={imei}||success`,
];
const rows1078 = [
  `fleet-media|jt1078|${mediaPort}|http://127.0.0.1:${mediaHttpPort}/live/{sim}_{ch}.flv|env ${common} MEDIA_ACCEPT_UNSOLICITED=true ADMIN_PORT=0 HTTP_PORT=${mediaHttpPort} MEDIA_HTTP_URL=http://127.0.0.1:${mediaHttpPort} MEDIA_LIVE_PORT=${mediaPort} MEDIA_HISTORY_PORT=${historyPort} MEDIA_TALK_PORT=${talkPort} MEDIA_SIGNING_SECRET=only-for-measurements-0123456789 node ${service('jt1078-media')}`,
];

const rounds = process.env.ROUNDS ?? '2';
const what = process.argv[2] ?? 'all';
const result = spawnSync('bash', [join(work, 'run-peers.sh'), what], {
  cwd: work,
  env: { ...process.env, NETNS: '0', ROUNDS: rounds, EXTRA_808: rows808.join('\n'), EXTRA_1078: rows1078.join('\n') },
  stdio: ['ignore', 'pipe', 'inherit'],
  encoding: 'utf8',
  maxBuffer: 1 << 26,
});
await backends.stop();
if (result.status !== 0 || result.stdout.trim() === '') {
  console.error('The measurement did not finish; docs/benchmarks.md is unchanged.');
  process.exit(1);
}
const tables = result.stdout.trimEnd();
console.log(tables);

const head = existsSync(target) ? readFileSync(target, 'utf8').split(marker)[0] : '# Benchmarks\n\n';
const command = `ROUNDS=${rounds} npm run bench${what === 'all' ? '' : ` -- ${what}`}`;
writeFileSync(
  target,
  `${head}${marker}\n\nMeasured ${new Date().toISOString().slice(0, 10)} by \`${command}\` on ${machine()}; medians of ${rounds} rounds, load tool and server sharing the cores.\n${tables}\n`,
);
console.log(`written: ${target}`);
