import { type DragEvent, useState } from 'react';

const vehiclesType = 'application/x-fleet-vehicles';
const groupType = 'application/x-fleet-group';

/** What is dragged over a group. */
export type Dragged =
  | { readonly kind: 'vehicles'; readonly ids: readonly number[] }
  | { readonly kind: 'group'; readonly id: number };

const typeOf = ({ kind }: Dragged): string => (kind === 'vehicles' ? vehiclesType : groupType);

/** Returns the properties of an element that can be dragged. */
export const dragProps = (dragged: Dragged) => ({
  draggable: true,
  onDragStart: ({ dataTransfer }: DragEvent): void => {
    // A link would carry its address.
    dataTransfer.clearData();
    dataTransfer.effectAllowed = 'move';
    dataTransfer.setData(typeOf(dragged), JSON.stringify(dragged));
  },
});

/** Returns the properties of an element on which vehicles and groups can be dropped. */
export function useDrop(onDrop: (dragged: Dragged) => void) {
  const [isOver, setIsOver] = useState(false);
  const isAccepted = ({ dataTransfer }: DragEvent): boolean =>
    [vehiclesType, groupType].some((type) => dataTransfer.types.includes(type));
  return {
    'data-drop': isOver,
    onDragOver: (event: DragEvent): void => {
      if (!isAccepted(event)) return;
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: () => setIsOver(false),
    onDrop: (event: DragEvent): void => {
      setIsOver(false);
      if (!isAccepted(event)) return;
      event.preventDefault();
      const text = event.dataTransfer.getData(vehiclesType) || event.dataTransfer.getData(groupType);
      if (text !== '') onDrop(JSON.parse(text) as Dragged);
    },
  };
}
