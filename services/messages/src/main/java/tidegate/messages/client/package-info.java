/** A client of the messages service that measures each request. */
package tidegate.messages.client;
