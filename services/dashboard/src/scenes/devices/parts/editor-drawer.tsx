import { Drawer, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { Failure } from '../../../common/ui/states.tsx';

interface EditorDrawerProps {
  readonly title: string;
  /** The last failure; faults of fields are beside the fields. */
  readonly error: Error | null;
  /** Both versions, after somebody else has changed the record; null without a conflict. */
  readonly conflict: ReactNode;
  /** The card that deletes the record; null for a new one. */
  readonly deletion: ReactNode;
  readonly isSaving: boolean;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A form beside the list: adds a record, or edits and deletes one. */
export function EditorDrawer({ title, error, conflict, deletion, children, ...form }: EditorDrawerProps) {
  const { t } = useTranslation();
  const isOfField = Object.keys(toFieldErrors(error)).length > 0;
  return (
    <Drawer
      opened
      onClose={form.onClose}
      position="right"
      title={title}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit} noValidate>
        <Stack gap="sm">
          {children}
          {conflict}
          {error === null || isOfField || conflict !== null ? null : <Failure error={error} />}
          <FormButtons isSaving={form.isSaving} onCancel={form.onClose} />
        </Stack>
      </form>
      {deletion}
    </Drawer>
  );
}
