import type { SourceSpecification } from 'maplibre-gl';

type Sources = Readonly<Record<string, SourceSpecification>>;

/** Resolves a URL of a map style against the URL of the style. Placeholders such as `{z}` are kept. */
export function resolveStyleUrl(url: string, styleUrl: string): string {
  const hasScheme = /^[a-z][a-z\d+.-]*:/i.test(url);
  return hasScheme ? url : new URL(url, styleUrl).href.replaceAll('%7B', '{').replaceAll('%7D', '}');
}

/** Resolves the URLs of a style's sources, which MapLibre expects to be absolute. */
export const resolveSourceUrls = (sources: Sources, styleUrl: string): Record<string, SourceSpecification> =>
  Object.fromEntries(Object.entries(sources).map(([id, source]) => [id, resolveSource(source, styleUrl)]));

function resolveSource(source: SourceSpecification, styleUrl: string): SourceSpecification {
  const { url, tiles, data } = source as { url?: unknown; tiles?: unknown; data?: unknown };
  const resolve = (value: unknown): unknown => (typeof value === 'string' ? resolveStyleUrl(value, styleUrl) : value);
  return {
    ...source,
    ...(url === undefined ? {} : { url: resolve(url) }),
    ...(Array.isArray(tiles) ? { tiles: tiles.map(resolve) } : {}),
    ...(data === undefined ? {} : { data: resolve(data) }),
  } as SourceSpecification;
}
