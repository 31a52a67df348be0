import type { Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'react';
import { colors, type Theme } from '../theme/tokens.ts';
import type { ShapeEditor } from './shape-editor.ts';
import type { Shape, ShapeKind } from './shapes.ts';

/** The shape that a map and a form change together. */
export interface EditedShape {
  /** The shape with handles; null if nothing is edited. */
  readonly shape: Shape | null;
  /** The kind that the user draws now. */
  readonly drawing: ShapeKind | null;
  readonly widthM: number | null;
  readonly onShape: (shape: Shape) => void;
}

/** Shows the shape with handles, or draws one. The code of the editor is loaded when it is first needed. */
export function useShapeEditor(
  map: MapLibreMap | null,
  theme: Theme,
  { shape, drawing, widthM, onShape }: EditedShape,
): void {
  const [editor, setEditor] = useState<ShapeEditor | null>(null);
  const newest = useRef(onShape);
  newest.current = onShape;
  const isNeeded = shape !== null || drawing !== null;
  useEffect(() => {
    if (map === null || !isNeeded) return undefined;
    let isOver = false;
    let created: ShapeEditor | null = null;
    void import('./shape-editor.ts').then(({ ShapeEditor: Editor }) => {
      if (isOver) return;
      created = new Editor(map, colors[theme], (changed) => newest.current(changed));
      setEditor(created);
    });
    return () => {
      isOver = true;
      created?.stop();
      setEditor(null);
    };
    // Another theme creates another map.
  }, [map, isNeeded]);
  useEffect(() => {
    if (editor === null) return;
    if (drawing === null) editor.show(shape);
    else editor.draw(drawing, widthM);
    // A width that changes while a line is drawn does not begin another one.
  }, [editor, shape, drawing]);
}
