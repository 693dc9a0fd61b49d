// Words that several views share. Pure.

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** What an operation is called on the page. */
export const actOf = (operation: string): string => operation.replace(/^async_/, '')
