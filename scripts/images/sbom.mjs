// Bills of materials of images, as CycloneDX 1.6: the packages of npm with their licenses, and those of Debian.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import { PackageURL } from 'packageurl-js';
import { root } from '../steps.mjs';

/** Folder of the bills. */
export const sbomFolder = join(root, '.cache', 'sbom');

const workspaceScope = '@fleet/';
/** As in the builds of the images. */
const isolation = ['--isolation', 'chroot'];

/** Prints the packages of npm in an image as JSON: each has a folder of its own in the store of pnpm. */
const listPackages = `
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const store = '/app/node_modules/.pnpm';
const packages = new Map();
const add = (folder) => {
  if (!existsSync(folder + '/package.json')) return;
  const { name, version, license } = JSON.parse(readFileSync(folder + '/package.json', 'utf8'));
  if (version !== undefined) packages.set(name + '@' + version, { name, version, license });
};
for (const entry of existsSync(store) ? readdirSync(store) : []) {
  const folder = store + '/' + entry + '/node_modules';
  if (!existsSync(folder)) continue;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('@')) add(folder + '/' + name);
    else for (const scoped of readdirSync(folder + '/' + name)) add(folder + '/' + name + '/' + scoped);
  }
}
console.log(JSON.stringify([...packages.values()]));
`;

/** Returns the packages of npm in a container: name, version and license. */
function listNpmPackages(buildah, container) {
  const output = buildah('run', ...isolation, container, '--', 'node', '-e', listPackages);
  return JSON.parse(output).filter(({ name }) => !name.startsWith(workspaceScope));
}

/** Returns the packages of Debian in a container: name and version. */
function listDebianPackages(buildah, container) {
  return buildah('run', ...isolation, container, '--', 'dpkg-query', '-W', '-f', '${Package} ${Version}\\n')
    .split('\n')
    .map((line) => line.split(' '))
    .map(([name, version]) => ({ name, version }));
}

/** Returns the namespace and the name of an npm package: `@scope/name` has two parts. */
const splitName = (name) => (name.startsWith('@') ? name.split('/') : [undefined, name]);

function toNpmComponent({ name, version, license }) {
  const [group, localName] = splitName(name);
  const purl = new PackageURL('npm', group, localName, version, undefined, undefined).toString();
  const component = new Models.Component(Enums.ComponentType.Library, localName, {
    group,
    version,
    purl,
    bomRef: purl,
  });
  if (typeof license === 'string') component.licenses.add(new Models.NamedLicense(license));
  return component;
}

function toDebianComponent({ name, version }) {
  const purl = new PackageURL('deb', 'debian', name, version, undefined, undefined).toString();
  return new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl });
}

/**
 * Writes the bill of materials of an image. Returns the numbers of its packages of npm and of Debian.
 * @param {string} service
 * @param {(...args: string[]) => string} buildah runs buildah and returns its output
 * @param {string} container a container of the image
 */
export function writeSbom(service, buildah, container) {
  const npm = listNpmPackages(buildah, container);
  const debian = listDebianPackages(buildah, container);
  const bom = new Models.Bom();
  bom.metadata.component = new Models.Component(Enums.ComponentType.Container, `fleet/${service}`, { bomRef: service });
  for (const each of npm) bom.components.add(toNpmComponent(each));
  for (const each of debian) bom.components.add(toDebianComponent(each));
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  mkdirSync(sbomFolder, { recursive: true });
  const file = join(sbomFolder, `${service}.cdx.json`);
  writeFileSync(file, serializer.serialize(bom, { sortLists: true, space: 1 }));
  return { npm: npm.length, debian: debian.length };
}
