import { useMemo, useRef, useState } from 'react';
import { type Bounds, createShape, defaultWidthM, type Shape, type ShapeKind } from '../map/shapes.ts';

/** The shape that a form and a map change together. */
export interface ShapeState {
  readonly shape: Shape | null;
  /** The kind that the user draws now; null if nothing is drawn. */
  readonly drawing: ShapeKind | null;
  /** The corner that has the keyboard. */
  readonly focusedIndex: number | null;
  /** The map is visible, so that a shape can be put into its middle. */
  readonly hasMap: boolean;
  readonly actions: ShapeActions;
}

interface ShapeActions {
  /** Shows a shape with its handles, or nothing. */
  readonly set: (shape: Shape | null) => void;
  /** Begins a new shape on the map. */
  readonly draw: (kind: ShapeKind) => void;
  /** Puts a new shape into the middle of the map. */
  readonly place: (kind: ShapeKind) => void;
  readonly focus: (index: number | null) => void;
  /** Remembers the visible part of the map. */
  readonly setBounds: (bounds: Bounds) => void;
}

/** Returns the shape of a page with its changes. */
export function useShape(): ShapeState {
  const [shape, setShape] = useState<Shape | null>(null);
  const [drawing, setDrawing] = useState<ShapeKind | null>(null);
  const [focusedIndex, setFocusedIndex] = useState<number | null>(null);
  const [hasMap, setHasMap] = useState(false);
  const bounds = useRef<Bounds>(null);
  const actions = useMemo<ShapeActions>(() => {
    const set = (next: Shape | null): void => {
      setDrawing(null);
      setShape(next);
    };
    return {
      set,
      draw: (kind) => {
        setShape(null);
        setDrawing(kind);
      },
      place: (kind) => {
        if (bounds.current !== null) set(createShape(kind, bounds.current));
      },
      focus: setFocusedIndex,
      setBounds: (visible) => {
        bounds.current = visible;
        setHasMap(true);
      },
    };
  }, []);
  return { shape, drawing, focusedIndex, hasMap, actions };
}

/** Returns the mark of the corner that has the keyboard. */
export const focusMarks = ({ shape, focusedIndex }: ShapeState) => {
  const position = focusedIndex === null ? undefined : shape?.positions[focusedIndex];
  return position === undefined ? [] : [{ name: '', position, isFocused: true }];
};

/** Returns the width of a corridor that is drawn. */
export const widthOf = (drawing: ShapeKind | null): number | null => (drawing === 'corridor' ? defaultWidthM : null);
