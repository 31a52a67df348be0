import type { LineString, Polygon } from 'geojson';
import type { Map as MapLibreMap } from 'maplibre-gl';
import {
  TerraDraw,
  TerraDrawCircleMode,
  TerraDrawLineStringMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
} from 'terra-draw';
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter';
import type { ThemeColors } from '../theme/tokens.ts';
import { fromGeometry, isSameShape, type Shape, type ShapeKind, toGeometry } from './shapes.ts';

/** Names of the drawing modes. */
const modeOf = { polygon: 'polygon', circle: 'circle', corridor: 'linestring' } as const satisfies Readonly<
  Record<ShapeKind, string>
>;
const selectMode = 'select';
/** Of the corners of a circle, only some have a handle. */
const circleHandleEvery = 16;

type HexColor = `#${string}`;

/** Draws one shape on a map with the pointer, and changes it: drag a corner, a point between two corners, or the shape. */
export class ShapeEditor {
  readonly #draw: TerraDraw;
  readonly #onChange: (shape: Shape) => void;
  #isMapRemoved = false;
  #isStopped = false;
  #current: Shape | null = null;
  #widthM: number | null = null;

  constructor(map: MapLibreMap, theme: ThemeColors, onChange: (shape: Shape) => void) {
    this.#onChange = onChange;
    const modes = createModes(theme, (index) => this.#hasHandle(index));
    this.#draw = new TerraDraw({ adapter: new TerraDrawMapLibreGLAdapter({ map }), modes });
    this.#draw.start();
    this.#draw.on('finish', (id, { mode }) => this.#onFinish(id, mode));
    map.once('remove', () => {
      this.#isMapRemoved = true;
    });
  }

  /** Begins a new shape. A corridor gets the width. */
  draw(kind: ShapeKind, widthM: number | null): void {
    if (this.#isStopped) return;
    this.#reset();
    this.#widthM = widthM;
    this.#draw.setMode(modeOf[kind]);
  }

  /** Shows a shape with its handles, or nothing. */
  show(shape: Shape | null): void {
    if (this.#isStopped) return;
    if (shape !== null && this.#draw.getMode() === selectMode && isSameShape(shape, this.#current)) return;
    this.#reset();
    if (shape === null) return;
    this.#current = shape;
    this.#widthM = shape.widthM;
    const id = this.#draw.getFeatureId();
    const properties = { mode: modeOf[shape.kind] };
    this.#draw.addFeatures([{ id, type: 'Feature', properties, geometry: toGeometry(shape) }]);
    this.#draw.setMode(selectMode);
    // A shape that cannot be drawn, such as one with equal corners, has its numbers beside the map.
    if (this.#draw.hasFeature(id)) this.#draw.selectFeature(id);
  }

  /** Removes everything from the map. */
  stop(): void {
    this.#isStopped = true;
    if (!this.#isMapRemoved) this.#draw.stop();
  }

  #reset(): void {
    this.#current = null;
    this.#draw.setMode('static');
    this.#draw.clear();
  }

  #hasHandle(index: unknown): boolean {
    return this.#current?.kind !== 'circle' || Number(index) % circleHandleEvery === 0;
  }

  #onFinish(id: string | number, mode: string): void {
    const feature = this.#draw.getSnapshotFeature(id);
    const kind = (Object.keys(modeOf) as ShapeKind[]).find((each) => modeOf[each] === feature?.properties['mode']);
    if (feature === undefined || kind === undefined) return;
    const shape = fromGeometry(kind, feature.geometry as Polygon | LineString, this.#widthM);
    // A drawn shape is shown again with its handles; a changed one already has them.
    this.#current = mode === selectMode ? shape : null;
    this.#onChange(shape);
  }
}

function createModes(theme: ThemeColors, hasHandle: (index: unknown) => boolean) {
  const color = theme.moving as HexColor;
  const surface = theme.surface as HexColor;
  const line = { lineStringColor: color, lineStringWidth: 3, closingPointColor: color, closingPointWidth: 6 };
  const area = { fillColor: color, fillOpacity: 0.2, outlineColor: color, outlineWidth: 3 };
  const change = {
    feature: {
      draggable: true,
      coordinates: { midpoints: { draggable: true }, draggable: true, deletable: true },
    },
  };
  return [
    new TerraDrawPolygonMode({ styles: { ...area, closingPointColor: color, closingPointWidth: 6 } }),
    new TerraDrawCircleMode({ styles: area }),
    new TerraDrawLineStringMode({ styles: line }),
    new TerraDrawSelectMode({
      allowManualDeselection: false,
      // The list of corners beside the map has the keys.
      keyEvents: null,
      flags: {
        polygon: change,
        linestring: change,
        circle: { feature: { draggable: true, coordinates: { resizable: 'center-fixed' } } },
      },
      styles: {
        selectionPointColor: surface,
        selectionPointOutlineColor: color,
        selectionPointOutlineWidth: 2,
        selectionPointWidth: ({ properties }) => (hasHandle(properties['index']) ? 6 : 0),
        selectionPointOpacity: ({ properties }) => (hasHandle(properties['index']) ? 1 : 0),
        selectionPointOutlineOpacity: ({ properties }) => (hasHandle(properties['index']) ? 1 : 0),
        midPointColor: color,
        midPointOutlineColor: surface,
        midPointWidth: 4,
        midPointOutlineWidth: 1,
        selectedPolygonColor: color,
        selectedPolygonFillOpacity: 0.2,
        selectedPolygonOutlineColor: color,
        selectedPolygonOutlineWidth: 3,
        selectedLineStringColor: color,
        selectedLineStringWidth: 3,
      },
    }),
  ];
}
