import type { PlaceMark } from '../../common/map/place-map.tsx';
import type { Position } from '../../common/map/shapes.ts';

/** The path of the form, and marks beside it, which the map shows. */
export interface Preview {
  readonly path: readonly Position[] | null;
  readonly color: string;
  readonly marks: readonly PlaceMark[];
}
