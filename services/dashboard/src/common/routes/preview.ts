import type { Position } from '../map/shapes.ts';
import type { PlaceMark } from '../map/use-place-layers.ts';

/** The path of the form, and marks beside it, which the map shows. */
export interface Preview {
  readonly path: readonly Position[] | null;
  readonly color: string;
  readonly marks: readonly PlaceMark[];
}
