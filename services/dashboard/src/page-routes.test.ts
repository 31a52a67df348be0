import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { languages } from './common/i18n/languages.ts';

const source = import.meta.dirname;
const router = readFileSync(join(source, 'router.tsx'), 'utf8');
const server = readFileSync(join(source, '../../platform-api/src/http-api/dashboard.ts'), 'utf8');

const paths: string[] = [...router.matchAll(/^ *path: '(\/[^']*)'/gm)].map(([, path = '']) => path);
const served: string[] = [...(/pageRoutes = \[([^\]]*)\]/.exec(server)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(
  ([, name = '']) => name,
);
const files: string[] = readdirSync(source, { recursive: true, encoding: 'utf8' });

describe('the page routes', () => {
  it('are those of the design; the share page has an entry of its own', () => {
    expect(paths.toSorted()).toEqual([
      '/',
      '/account/{-$tab}',
      '/devices/{-$tab}',
      '/drivers',
      '/drivers/$driverId',
      '/events/{-$eventId}',
      '/geofences/{-$geofenceId}',
      '/groups/{-$groupId}',
      '/login',
      '/map',
      '/media',
      '/messages',
      '/profile/{-$tab}',
      '/register',
      '/reset-password',
      '/routes/{-$routeId}',
      '/sharing',
      '/support',
      '/vehicles',
      '/vehicles/$vehicleId',
      '/vehicles/$vehicleId/$tab',
      '/vehicles/$vehicleId/day/$date',
      '/vehicles/$vehicleId/media',
      '/video',
    ]);
    expect(existsSync(join(source, 'share.tsx'))).toBe(true);
  });

  it('are all served by the platform, which serves no other', () => {
    const firstSegments = new Set<string>(paths.map((path) => path.split('/')[1] ?? '').filter((name) => name !== ''));
    expect([...firstSegments].toSorted()).toEqual(served.toSorted());
  });

  it('each load a page that exists', () => {
    const pages = [...router.matchAll(/import\('\.\/(scenes\/[^']+)'\)/g)].map(([, page = '']) => page);
    expect(pages.length).toBe(paths.length - 1);
    expect(pages.filter((page) => !existsSync(join(source, page)))).toEqual([]);
  });

  it('have the messages of every scene in every language', () => {
    const scenes: string[] = files
      .filter((file) => file.endsWith('.tsx'))
      .flatMap((file) => [...readFileSync(join(source, file), 'utf8').matchAll(/useTranslation\('(\w+)'\)/g)])
      .map(([, scene = '']) => scene);
    const missing = [...new Set<string>(scenes)].flatMap((scene) =>
      languages
        .filter((language) => !files.some((file) => file.endsWith(join(scene, 'messages', `${language}.json`))))
        .map((language) => `${scene}: ${language}`),
    );
    expect(scenes.length).toBeGreaterThan(0);
    expect(missing).toEqual([]);
  });
});
