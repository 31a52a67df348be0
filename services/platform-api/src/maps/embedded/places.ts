import { readFile } from 'node:fs/promises';
import { around } from 'geokdbush';
import KDBush from 'kdbush';
import { distanceM, type Position } from '../../geometry/positions.ts';
import { TrigramIndex } from './trigrams.ts';

/** A built-in city. */
export interface BuiltInPlace {
  readonly name: string;
  /** ISO 3166 code, two capital letters. */
  readonly countryCode: string;
  readonly country: string;
  /** First administrative division, or ''. */
  readonly state: string;
  readonly position: Position;
  readonly population: number;
  readonly isCapital: boolean;
}

const file = new URL('../../../data/places.tsv', import.meta.url);
const countryNames = new Intl.DisplayNames(['en'], { type: 'region' });

/** Returns a function that finds the name of a country by its code, and looks each code up once. */
function countryNameFinder(): (code: string) => string {
  const known = new Map<string, string>();
  return (code) => {
    const name = known.get(code) ?? countryNames.of(code) ?? code;
    known.set(code, name);
    return name;
  };
}

/** Returns the name of a place with its state and country. */
export const labelOf = ({ name, state, country }: BuiltInPlace): string =>
  [...new Set([name, state, country].filter((part) => part !== ''))].join(', ');

/**
 * Searches the built-in cities (data/README.md) by position and by text. Loaded on first use, because most
 * installations have a provider.
 */
export class BuiltInPlaces {
  readonly #places: readonly BuiltInPlace[];
  readonly #byPosition: KDBush;
  /** Created by the first text search. */
  #byText: TrigramIndex | undefined;

  private constructor(places: readonly BuiltInPlace[]) {
    this.#places = places;
    this.#byPosition = new KDBush(places.length);
    for (const { position } of places) this.#byPosition.add(position[1], position[0]);
    this.#byPosition.finish();
  }

  static #loading: Promise<BuiltInPlaces> | undefined;

  /** Returns the places, which are read once per process. */
  static load(): Promise<BuiltInPlaces> {
    BuiltInPlaces.#loading ??= readFile(file, 'utf8').then(
      (text) => new BuiltInPlaces(readPlaces(text)),
      (error: unknown) => {
        // The next call retries.
        BuiltInPlaces.#loading = undefined;
        throw error;
      },
    );
    return BuiltInPlaces.#loading;
  }

  nearest(position: Position): { readonly place: BuiltInPlace; readonly distanceM: number } {
    const [at = 0] = around(this.#byPosition, position[1], position[0], 1);
    const place = this.#places[at] as BuiltInPlace;
    return { place, distanceM: distanceM(position, place.position) };
  }

  /** Returns places whose label contains at least the given share of the text. */
  search(
    text: string,
    options: { readonly isOpen: boolean; readonly atLeast: number },
  ): { readonly place: BuiltInPlace; readonly contained: number }[] {
    this.#byText ??= new TrigramIndex(this.#places.map(labelOf));
    return this.#byText
      .search(text, options)
      .map(({ at, contained }) => ({ place: this.#places[at] as BuiltInPlace, contained }));
  }
}

function readPlaces(text: string): BuiltInPlace[] {
  const [, ...lines] = text.trimEnd().split('\n');
  const countryName = countryNameFinder();
  return lines.map((line) => {
    const [name = '', countryCode = '', state = '', latitude, longitude, population, type] = line.split('\t');
    return {
      name,
      countryCode,
      country: countryName(countryCode),
      state,
      position: [Number(latitude), Number(longitude)],
      population: Number(population),
      isCapital: type === 'capital',
    };
  });
}
