import { describe, expect, it, jest } from '@jest/globals';
import { type BackendSource, resolveBackend, type Surroundings } from './resolve.ts';
import { listOwnServers } from './start-backends.ts';

const obtain = jest.fn(async () => '/cache/nats-server');
const nats: BackendSource = { name: 'nats', variable: 'NATS_URL', programs: ['nats-server', 'gnatsd'], obtain };
const ffmpeg: BackendSource = { name: 'ffmpeg', variable: 'FFMPEG_PATH', programs: ['ffmpeg'], obtain };

const surroundings = (env: NodeJS.ProcessEnv, ...onPath: string[]): Surroundings => ({
  env,
  findOnPath: (program) => (onPath.includes(program) ? `/bin/${program}` : undefined),
  isExecutable: (path) => path === '/opt/ffmpeg' || path.startsWith('/bin/'),
});

describe('the source of a backend', () => {
  it('prefers the URL of the environment to a program on the PATH', async () => {
    const found = await resolveBackend(nats, surroundings({ NATS_URL: 'nats://n:1' }, 'nats-server'));
    expect(found).toEqual({ from: 'url', url: 'nats://n:1' });
  });

  it('prefers a program on the PATH to building one, in the order of the program names', async () => {
    obtain.mockClear();
    expect(await resolveBackend(nats, surroundings({ NATS_URL: '' }, 'gnatsd', 'nats-server'))).toEqual({
      from: 'path',
      program: '/bin/nats-server',
    });
    expect(await resolveBackend(nats, surroundings({}, 'gnatsd'))).toEqual({ from: 'path', program: '/bin/gnatsd' });
    expect(obtain).not.toHaveBeenCalled();
  });

  it('builds or installs it if there is neither a URL nor a program', async () => {
    expect(await resolveBackend(nats, surroundings({}))).toEqual({ from: 'obtained', program: '/cache/nats-server' });
  });

  it('accepts FFMPEG_PATH as a path or a name, and refuses a value that is not a program', async () => {
    expect(await resolveBackend(ffmpeg, surroundings({ FFMPEG_PATH: '/opt/ffmpeg' }))).toMatchObject({
      program: '/opt/ffmpeg',
    });
    expect(await resolveBackend(ffmpeg, surroundings({ FFMPEG_PATH: 'ffmpeg' }, 'ffmpeg'))).toMatchObject({
      program: '/bin/ffmpeg',
    });
    await expect(resolveBackend(ffmpeg, surroundings({ FFMPEG_PATH: '/nowhere' }))).rejects.toThrow(
      /FFMPEG_PATH is \/nowhere/,
    );
  });

  it('claims ports only for servers that it runs itself', () => {
    expect(listOwnServers({ REDIS_URL: 'redis://r', MONGODB_URL: '' })).toEqual(['nats', 'mongodb']);
  });
});
