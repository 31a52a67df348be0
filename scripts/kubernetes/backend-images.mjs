// Images of the backends for a test cluster, from the programs with which the product's tests run.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../steps.mjs';

const buildah = (...args) => execFileSync('buildah', args, { encoding: 'utf8' }).trim();
const programs = join(root, '.cache', 'bin');

/** Creates an image of a program that needs no library. */
function createStaticImage(name, file) {
  const container = buildah('from', 'scratch');
  buildah('copy', '-q', container, join(programs, file), `/usr/bin/${file}`);
  buildah('config', '--entrypoint', JSON.stringify([`/usr/bin/${file}`]), container);
  buildah('commit', '-q', '--rm', container, name);
}

// Redis refuses other hosts by default, which the official image permits.
const startRedis = '#!/bin/sh\nexec /usr/bin/redis-server "$@" --protected-mode no\n';

/** Creates the image of Redis over the base of the services. */
function createRedisImage(name, base) {
  const container = buildah('from', base);
  const install = `apt-get update && apt-get install -y --no-install-recommends redis-server redis-sentinel
printf '%s' '${startRedis}' > /usr/local/bin/redis-server && chmod 755 /usr/local/bin/redis-server`;
  execFileSync('buildah', ['run', '--isolation', 'chroot', container, '--', 'sh', '-ec', install], { stdio: 'pipe' });
  buildah('commit', '-q', '--rm', container, name);
}

/** Returns whether the store of buildah has an image. */
export const hasImage = (name) =>
  JSON.parse(buildah('images', '--json')).some(({ names }) => (names ?? []).includes(`${name}:latest`));

export const backendImages = {
  nats: 'localhost/fleet/test-nats',
  redis: 'localhost/fleet/test-redis',
  mongodb: 'localhost/fleet/test-ferretdb',
};

/** Creates the images that do not exist yet. */
export function createBackendImages(base) {
  if (!hasImage(backendImages.nats)) createStaticImage(backendImages.nats, 'nats-server');
  if (!hasImage(backendImages.mongodb)) createStaticImage(backendImages.mongodb, 'ferretdb');
  if (!hasImage(backendImages.redis)) createRedisImage(backendImages.redis, base);
}
